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

// patience is how long tests wait for what must come.
const patience = time.Minute

// Await asks until the answer is yes, for at most a minute.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			require.Fail(t, "waited in vain", what)
		}
	}
}

// Observer looks at the broker beside the client under test, with franz-go.
type Observer struct {
	addr  string
	Admin *kadm.Client
}

// NewObserver returns an observer for the length of the test.
func NewObserver(t testing.TB, addr string) Observer {
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	return Observer{addr, admin}
}

// Partitions returns how many partitions the topic has, 0 when it does not exist.
func (o Observer) Partitions(t testing.TB, topic string) int {
	details, err := o.Admin.ListTopics(t.Context(), topic)
	require.NoError(t, err)
	if err := details[topic].Err; err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		require.ErrorIs(t, err, kerr.LeaderNotAvailable)
	}
	return len(details[topic].Partitions)
}

// AwaitPartitions waits until the topic has that many partitions, 0 meaning that it does not exist. Kafka
// answers CreateTopics and DeleteTopics before Metadata shows the outcome.
func (o Observer) AwaitPartitions(t testing.TB, topic string, count int) {
	t.Helper()
	Await(t, "the partitions of "+topic, func() bool { return o.Partitions(t, topic) == count })
}

// Committed returns the offsets that the group has committed for the topic.
func (o Observer) Committed(t testing.TB, group, topic string) Offsets {
	all, err := o.Admin.FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	out := Offsets{}
	for partition, offset := range all[topic] {
		require.NoError(t, offset.Err)
		out[partition] = offset.At
	}
	return out
}

// Describe returns the group as DescribeGroups shows it; one that does not exist is Dead.
func (o Observer) Describe(t testing.TB, group, topic string) Group {
	groups, err := o.Admin.DescribeGroups(t.Context(), group)
	require.NoError(t, err)
	if err := groups[group].Err; err != nil {
		require.ErrorIs(t, err, kerr.GroupIDNotFound)
	}
	return FromKadm(groups[group], topic)
}

// Facts are what the stored batches say of their producer.
type Facts struct {
	Codecs     []string // distinct, sorted
	Idempotent bool     // every batch carries a producer id
}

// Read returns the first count records of the topic, and facts about their batches.
func (o Observer) Read(t testing.TB, topic string, count int) ([]Record, Facts) {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out []Record
	f := Facts{Idempotent: true}
	for len(out) < count {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%d of %d records came", len(out), count)
		fetches.EachRecord(func(record *kgo.Record) {
			codec := Codecs()[record.Attrs.CompressionType()]
			if !slices.Contains(f.Codecs, codec) {
				f.Codecs = append(f.Codecs, codec)
			}
			f.Idempotent = f.Idempotent && record.ProducerID >= 0
			out = append(out, FromFranz(record))
		})
	}
	slices.Sort(f.Codecs)
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
