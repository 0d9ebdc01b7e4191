package fetch_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/fetch"
)

// The scenarios run on an embedded store in memory. They may use:
//
//	topic name=a [partitions=1]
//	append topic=a [partition=0] values=(a,b)     one batch
//	delete topic=a
//
// Records are shown by the offsets and the length of each batch.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		s := embeddedtest.Open(t)
		find := func(d *datadriven.TestData) backend.Topic {
			var name string
			d.ScanArgs(t, "topic", &name)
			topic, err := s.Topic(t.Context(), name)
			require.NoError(t, err)
			return topic
		}
		return handlertest.Env{
			Handler: fetch.New(s, limits),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"topic": func(t *testing.T, d *datadriven.TestData) string {
					topic := backend.NewTopic{Partitions: 1}
					d.ScanArgs(t, "name", &topic.Name)
					d.MaybeScanArgs(t, "partitions", &topic.Partitions)
					_, err := s.CreateTopic(t.Context(), topic)
					require.NoError(t, err)
					return "ok"
				},
				"append": func(t *testing.T, d *datadriven.TestData) string {
					p := backend.Partition{Topic: find(d).ID}
					d.MaybeScanArgs(t, "partition", &p.Index)
					values, _ := d.Arg("values")
					got := s.Append(t.Context(), []backend.Append{{Partition: p, Batch: recordtest.Values(values.Vals...).Batch(t)}})
					require.NoError(t, got[0].Err)
					return fmt.Sprint("offset ", got[0].BaseOffset)
				},
				"delete": func(t *testing.T, d *datadriven.TestData) string {
					require.NoError(t, s.DeleteTopic(t.Context(), find(d).ID))
					return "ok"
				},
			},
			Normalize: readable,
		}
	})
}

var quotedRecords = regexp.MustCompile(`RecordBatches: (".*")`)

// readable shows records by the offsets of their batches, and leaves out the
// parts of an answer that are the same in all of them.
func readable(out string) string {
	out = quotedRecords.ReplaceAllStringFunc(out, func(line string) string {
		raw, err := strconv.Unquote(strings.TrimPrefix(line, "RecordBatches: "))
		if err != nil {
			return line + " " + err.Error()
		}
		var batches []string
		for b := []byte(raw); len(b) > 0; {
			batch, rest, err := record.Parse(b)
			if err != nil {
				batches = append(batches, err.Error())
				break
			}
			batches = append(batches, fmt.Sprintf("%d-%d (%d bytes)", batch.BaseOffset, batch.LastOffset(), len(batch.Bytes)))
			b = rest
		}
		return "RecordBatches: [" + strings.Join(batches, ", ") + "]"
	})
	for _, same := range []string{
		"    DivergingEpoch:\n      Epoch: -1\n      EndOffset: -1\n", "    CurrentLeader:\n      LeaderID: -1\n      LeaderEpoch: -1\n",
		"    SnapshotID:\n      EndOffset: -1\n      Epoch: -1\n", "Brokers: null\n", "  TopicID: 00000000-0000-0000-0000-000000000000\n",
	} {
		out = strings.ReplaceAll(out, same, "")
	}
	return out
}

// An append that races with the beginning of a wait is never missed.
func TestNoWakeIsLost(t *testing.T) {
	s := embeddedtest.Open(t)
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 1})
	require.NoError(t, err)
	batch := recordtest.Values("v").Bytes()
	for i := range int64(300) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			b, _, err := record.Parse(slices.Clone(batch))
			assert.NoError(t, err)
			for _, a := range s.Append(t.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID}, Batch: b}}) {
				assert.NoError(t, a.Err)
			}
		}()
		resp := answer(t, s, waiting(1, ask{"a", 0, i, mib}))
		require.Equal(t, []got{{"a", 0, 0, 0, i + 1, []int{len(batch)}}}, parts(t, resp))
		<-done
	}
}
