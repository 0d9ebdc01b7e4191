package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// good is a client that knows what the right answers are. It is alone with its topic and its group.
type good struct {
	*rawclient.Conn
	name     string
	offset   int64
	began    int64  // ms since the epoch: the time of its records, which retention leaves alone
	versions []byte // the whole answer to ApiVersions
}

// newGood connects, and makes the topic.
func newGood(d Door, name string) (*good, error) {
	nc, err := d.Dial()
	if err != nil {
		return nil, err
	}
	g := &good{Conn: rawclient.New(nc, "good"), name: name, began: time.Now().UnixMilli()}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 4, 10_000
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}}
	answer, err := g.Call(create)
	if err == nil {
		err = kerr.ErrorForCode(answer.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	}
	if err != nil {
		g.Close()
		return nil, fmt.Errorf("%s: a topic: %w", name, err)
	}
	return g, nil
}

// round makes one request of each kind, and says which answer was wrong.
func (g *good) round() error {
	if err := g.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"ApiVersions", g.apis}, {"Metadata", g.metadata}, {"Produce", g.produce}, {"Fetch", g.fetch}, {"ListOffsets", g.end}, {"offsets", g.commit},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s, record %d: %s: %w", g.name, g.offset, step.what, err)
		}
	}
	g.offset++
	return nil
}

func (g *good) apis() error {
	answer, err := g.Call(kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return err
	}
	if got := answer.AppendTo(nil); g.versions == nil {
		g.versions = got
	} else if !bytes.Equal(g.versions, got) {
		return errors.New("another answer than before")
	}
	return nil
}

func (g *good) metadata() error {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 9, []kmsg.MetadataRequestTopic{{Topic: &g.name}}
	answer, err := g.Call(req)
	if err != nil {
		return err
	}
	topics := answer.(*kmsg.MetadataResponse).Topics
	if len(topics) != 1 || topics[0].ErrorCode != 0 || *topics[0].Topic != g.name || len(topics[0].Partitions) != 1 {
		return fmt.Errorf("%+v", topics)
	}
	return nil
}

// batch is the record of an offset.
func (g *good) batch() []byte {
	return recordtest.Values(fmt.Sprintf("%s %d", g.name, g.offset)).At(g.began).Bytes()
}

func (g *good) produce() error {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 7, -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: g.name, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: g.batch()}}}}
	answer, err := g.Call(req)
	if err != nil {
		return err
	}
	p := answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.BaseOffset != g.offset {
		return fmt.Errorf("%+v", p)
	}
	return nil
}

func (g *good) fetch() error {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.SessionEpoch = 11, 1<<20, -1
	req.Topics = []kmsg.FetchRequestTopic{{Topic: g.name, Partitions: []kmsg.FetchRequestTopicPartition{{
		CurrentLeaderEpoch: -1, FetchOffset: g.offset, PartitionMaxBytes: 1 << 20,
	}}}}
	answer, err := g.Call(req)
	if err != nil {
		return err
	}
	p := answer.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	const fixed = 16 // offset, length and leader epoch are written by the gateway
	want := g.batch()
	if p.ErrorCode != 0 || len(p.RecordBatches) != len(want) || !bytes.Equal(p.RecordBatches[fixed:], want[fixed:]) {
		return fmt.Errorf("code %d, %d bytes of %d, or others than were written", p.ErrorCode, len(p.RecordBatches), len(want))
	}
	return nil
}

func (g *good) end() error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 5, -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: g.name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}}}}
	answer, err := g.Call(req)
	if err != nil {
		return err
	}
	if p := answer.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Offset != g.offset+1 {
		return fmt.Errorf("%+v", p)
	}
	return nil
}

func (g *good) commit() error {
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.Generation = 7, g.name, -1
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: g.name, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: g.offset, LeaderEpoch: -1}}}}
	answer, err := g.Call(commit)
	if err != nil {
		return err
	}
	if code := answer.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		return kerr.ErrorForCode(code)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group = 5, g.name
	fetch.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: g.name, Partitions: []int32{0}}}
	if answer, err = g.Call(fetch); err != nil {
		return err
	}
	if p := answer.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Offset != g.offset {
		return fmt.Errorf("%+v", p)
	}
	return nil
}

// stockClients writes records and reads them as a member of a group, with a library, until ctx ends. Each has to arrive once and
// in order.
func stockClients(ctx context.Context, d Door, name string, rounds *atomic.Int64) error {
	c, err := d.client(kgo.DefaultProduceTopic(name), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics(name), kgo.ConsumerGroup(name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerLinger(0), kgo.FetchMaxWait(time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		within, cancel := context.WithTimeout(context.Background(), 2*patience)
		err := exchange(within, c, fmt.Sprint(n))
		cancel()
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", name, n, err)
		}
		rounds.Add(1)
	}
	return nil
}

// exchange writes one record and reads it.
func exchange(ctx context.Context, c *kgo.Client, value string) error {
	if err := c.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
		return err
	}
	for {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		records := fetches.Records()
		switch {
		case len(records) == 0:
			continue
		case len(records) > 1 || string(records[0].Value) != value:
			return fmt.Errorf("%d records, the first is %q", len(records), records[0].Value)
		}
		return c.CommitUncommittedOffsets(ctx)
	}
}
