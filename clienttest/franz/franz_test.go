// Package franz runs the scenarios with franz-go: kgo for records and groups, kadm for administration.
package franz

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
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestFranz(t *testing.T) {
	clienttest.Run(t, clienttest.Traits{}, func(t *testing.T, addr string) clienttest.Client {
		c, err := open(kgo.SeedBrokers(addr))
		require.NoError(t, err)
		return c
	})
}

type client struct {
	opts  []kgo.Opt // of each connection: where to, and how to log in
	admin *kadm.Client
}

// open returns a client whose connections have these options.
func open(opts ...kgo.Opt) (client, error) {
	admin, err := kadm.NewOptClient(opts...)
	return client{opts, admin}, err
}

// connect returns a client of the library.
func (c client) connect(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(slices.Concat(c.opts, opts)...)
}

func (c client) Close() error { c.admin.Close(); return nil }

func (c client) CreateTopic(ctx context.Context, topic string, partitions int) error {
	_, err := c.admin.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	return err
}

func (c client) DeleteTopic(ctx context.Context, topic string) error {
	_, err := c.admin.DeleteTopic(ctx, topic)
	return err
}

func (c client) Produce(ctx context.Context, topic, codec string, records []clienttest.Record) error {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	producer, err := c.connect(kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codecs[codec]))
	if err != nil {
		return err
	}
	defer producer.Close()
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
	}
	return producer.ProduceSync(ctx, out...).FirstErr()
}

func (c client) Read(ctx context.Context, topic string, from clienttest.Offsets, count int) ([]clienttest.Record, error) {
	at := map[int32]kgo.Offset{}
	for partition, offset := range from {
		at[partition] = kgo.NewOffset().At(offset)
	}
	consumer, err := c.connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}))
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	var out []clienttest.Record
	for len(out) < count {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return out, err
		}
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, clienttest.FromFranz(r)) })
	}
	return out, nil
}

func (c client) OffsetsAt(ctx context.Context, topic string, at int64) (clienttest.Offsets, error) {
	listed, err := c.admin.ListOffsetsAfterMilli(ctx, at, topic)
	if err != nil {
		return nil, err
	}
	out := clienttest.Offsets{}
	for partition, offset := range listed[topic] {
		out[partition] = offset.Offset
	}
	return out, listed.Error()
}

func (c client) Groups(ctx context.Context) ([]string, error) {
	groups, err := c.admin.ListGroups(ctx)
	return groups.Groups(), err
}

func (c client) Describe(ctx context.Context, group, topic string) (clienttest.Group, error) {
	groups, err := c.admin.DescribeGroups(ctx, group)
	if err != nil {
		return clienttest.Group{}, err
	}
	return clienttest.FromKadm(groups[group], topic), groups[group].Err
}

func (c client) Join(_ context.Context, group, topic string) (clienttest.Member, error) {
	owned := &clienttest.Owned{}
	revoked := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { owned.Remove(gone[topic]...) }
	consumer, err := c.connect(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { owned.Add(added[topic]...) }),
	)
	return member{consumer, owned}, err
}

type member struct {
	*kgo.Client
	owned *clienttest.Owned
}

func (m member) Poll(ctx context.Context) (clienttest.Polled, error) {
	poll, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var out clienttest.Polled
	fetches := m.PollFetches(poll)
	if err := failure(fetches); poll.Err() == nil && err != nil {
		return out, err
	}
	fetches.EachRecord(func(r *kgo.Record) { out.Records = append(out.Records, clienttest.FromFranz(r)) })
	out.Partitions = m.owned.List()
	return out, nil
}

// failure returns what is wrong with fetches. That a member was put out of its group, as by a gateway that starts again
// in the middle of a rebalance, franz-go tells among them, and joins anew by itself.
func failure(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		var session *kgo.ErrGroupSession
		if !errors.As(e.Err, &session) {
			return e.Err
		}
	}
	return nil
}

func TestFailure(t *testing.T) {
	t.Parallel()
	require.NoError(t, failure(kgo.NewErrFetch(&kgo.ErrGroupSession{Err: kerr.UnknownMemberID})))
	require.ErrorIs(t, failure(kgo.NewErrFetch(kerr.CorruptMessage)), kerr.CorruptMessage)
}

func (m member) Commit(ctx context.Context, topic string, positions clienttest.Offsets) error {
	offsets := map[int32]kgo.EpochOffset{}
	for partition, offset := range positions {
		offsets[partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	var failed error
	m.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if failed = err; err == nil {
				for _, p := range resp.Topics[0].Partitions {
					failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
				}
			}
		})
	return failed
}

func (m member) Close() error { m.Client.CloseAllowingRebalance(); return nil }
