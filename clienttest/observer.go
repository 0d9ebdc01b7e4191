package clienttest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// observer looks at the broker beside the client under test, with franz-go.
type observer struct {
	addr  string
	admin *kadm.Client
}

func newObserver(t testing.TB, addr string) observer {
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	return observer{addr, admin}
}

// awaitPartitions waits until the topic has that many partitions, 0 meaning that it does not exist. Kafka
// answers CreateTopics and DeleteTopics before Metadata shows the outcome.
func (o observer) awaitPartitions(t testing.TB, ctx context.Context, topic string, count int) {
	for got := -1; got != count; {
		require.NoError(t, ctx.Err(), "topic %s has %d partitions, not %d", topic, got, count)
		details, err := o.admin.ListTopics(ctx, topic)
		require.NoError(t, err)
		if err := details[topic].Err; err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			require.ErrorIs(t, err, kerr.LeaderNotAvailable)
		}
		got = len(details[topic].Partitions)
	}
}

// committed returns the offsets that the group has committed for the topic.
func (o observer) committed(t testing.TB, ctx context.Context, group, topic string) Offsets {
	all, err := o.admin.FetchOffsets(ctx, group)
	require.NoError(t, err)
	out := Offsets{}
	for partition, offset := range all[topic] {
		require.NoError(t, offset.Err)
		out[partition] = offset.At
	}
	return out
}

func (o observer) describe(t testing.TB, ctx context.Context, group, topic string) Group {
	groups, err := o.admin.DescribeGroups(ctx, group)
	require.NoError(t, err)
	require.NoError(t, groups[group].Err)
	return FromKadm(groups[group], topic)
}

// facts are what the stored batches say of their producer.
type facts struct {
	codecs     []string // distinct, sorted
	idempotent bool     // every batch carries a producer id
}

// read returns the first count records of the topic, and facts about their batches.
func (o observer) read(t testing.TB, ctx context.Context, topic string, count int) ([]Record, facts) {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	var out []Record
	f := facts{idempotent: true}
	for len(out) < count {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%d of %d records came", len(out), count)
		fetches.EachRecord(func(record *kgo.Record) {
			codec := Codecs()[record.Attrs.CompressionType()]
			if !slices.Contains(f.codecs, codec) {
				f.codecs = append(f.codecs, codec)
			}
			f.idempotent = f.idempotent && record.ProducerID >= 0
			out = append(out, FromFranz(record))
		})
	}
	slices.Sort(f.codecs)
	return out, f
}

// FromFranz turns a franz-go record into ours.
func FromFranz(record *kgo.Record) Record {
	out := Record{
		Partition: record.Partition, Offset: record.Offset,
		Key: record.Key, Value: record.Value, Time: record.Timestamp.UnixMilli(),
	}
	for _, h := range record.Headers {
		out.Headers = append(out.Headers, Header{h.Key, h.Value})
	}
	return out
}

// FromKadm turns a group that kadm described into ours.
func FromKadm(group kadm.DescribedGroup, topic string) Group {
	out := Group{State: group.State}
	for _, m := range group.Members {
		var partitions []int32
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				if t.Topic == topic {
					partitions = append(partitions, t.Partitions...)
				}
			}
		}
		slices.Sort(partitions)
		out.Members = append(out.Members, partitions)
	}
	return out
}
