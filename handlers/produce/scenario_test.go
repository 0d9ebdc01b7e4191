package produce_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/produce"
)

var producerTime = time.UnixMilli(recordtest.Time + 1_000_000)

// The scenarios run on an embedded store in memory whose clock stands still.
// They may use:
//
//	topic name=a [partitions=1] [config values, one a line]
//	produce version=9 topic=a [partition=0] [values=(a,b)] [codec=zstd] [acks=1]
//	        [from=(id,epoch,sequence)] [tx] [allow=(write:topic:a)]
//	log name=a [partition=0]      lists the batches of a partition
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		s := embeddedtest.Open(t, func(_ *embedded.Config, o *embedded.Options) {
			o.Now = func() time.Time { return producerTime }
		})
		return handlertest.Env{
			Handler: produce.New(s),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"topic":   func(t *testing.T, d *datadriven.TestData) string { return createTopic(t, s, d) },
				"produce": func(t *testing.T, d *datadriven.TestData) string { return send(t, s, d) },
				"log":     func(t *testing.T, d *datadriven.TestData) string { return list(t, s, d) },
			},
			Normalize: func(out string) string {
				// The bounds of a timestamp are counted from the present.
				return regexp.MustCompile(`within \[-?\d+, \d+\]`).ReplaceAllString(out, "within [earliest, latest]")
			},
		}
	})
}

func createTopic(t *testing.T, s backend.Backend, d *datadriven.TestData) string {
	topic := backend.NewTopic{Partitions: 1, Overrides: map[string]string{}}
	d.ScanArgs(t, "name", &topic.Name)
	d.MaybeScanArgs(t, "partitions", &topic.Partitions)
	for line := range strings.Lines(d.Input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		topic.Overrides[name] = value
	}
	_, err := s.CreateTopic(t.Context(), topic)
	require.NoError(t, err)
	return "ok"
}

func send(t *testing.T, s backend.Backend, d *datadriven.TestData) string {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 1000
	topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	batch := recordtest.New()
	d.ScanArgs(t, "version", &req.Version)
	d.MaybeScanArgs(t, "acks", &req.Acks)
	d.MaybeScanArgs(t, "topic", &topic.Topic)
	d.MaybeScanArgs(t, "partition", &part.Partition)
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "values":
			batch.Records = recordtest.Values(a.Vals...).Records
		case "codec":
			codecs := map[string]record.Codec{"gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd}
			require.Contains(t, codecs, a.Vals[0])
			batch.Codec = codecs[a.Vals[0]]
		case "from":
			var n [3]int64
			for i := range n {
				var err error
				n[i], err = strconv.ParseInt(a.Vals[i], 10, 64)
				require.NoError(t, err)
			}
			batch = batch.From(n[0], int16(n[1]), int32(n[2]))
		case "tx":
			batch.Attributes |= 0x10
		}
	}
	part.Records = batch.Bytes()
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	if req.Version >= 13 {
		known, err := s.Topic(t.Context(), topic.Topic)
		require.NoError(t, err)
		req.Topics[0].Topic, req.Topics[0].TopicID = "", known.ID
	}
	call := handler.Call{}
	if allow, ok := d.Arg("allow"); ok {
		call.Access = handlertest.Allowing(allow.Vals...)
	}
	out := handlertest.Answer(context.Background(), produce.New(s), call, req)
	// Ids are random, and the leader hints are never sent.
	out = regexp.MustCompile(`TopicID: .*`).ReplaceAllString(out, "TopicID: ...")
	return strings.ReplaceAll(out, "    CurrentLeader:\n      LeaderID: -1\n      LeaderEpoch: -1\n", "")
}

func list(t *testing.T, s backend.Backend, d *datadriven.TestData) string {
	var name string
	var index int32
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "partition", &index)
	topic, err := s.Topic(t.Context(), name)
	require.NoError(t, err)
	raw, bounds, err := s.Read(t.Context(), backend.Read{Partition: backend.Partition{Topic: topic.ID, Index: index}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	var out strings.Builder
	for len(raw) > 0 {
		b, rest, err := record.Parse(raw)
		require.NoError(t, err)
		require.True(t, b.ValidCRC())
		fmt.Fprintf(&out, "%d-%d codec %d time %d append time %v producer %d/%d/%d\n", b.BaseOffset, b.LastOffset(),
			b.Codec(), b.MaxTimestamp, b.LogAppendTime(), b.ProducerID, b.ProducerEpoch, b.BaseSequence)
		raw = rest
	}
	fmt.Fprintf(&out, "start %d end %d\n", bounds.Start, bounds.End)
	return out.String()
}
