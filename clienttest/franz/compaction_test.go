package franz

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/clienttest"
)

// TestCompaction writes many updates of few keys and reads what compaction leaves: the latest of each, where it was
// and in order. Then some keys are deleted, and their tombstones go too.
func TestCompaction(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Storage.Compaction.Interval = 100 * time.Millisecond }))
	const updates, keys, topic = 10_000, 100, "updates"
	producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	require.NoError(t, err)
	defer producer.Close()
	admin := kadm.NewClient(producer)
	configs := map[string]*string{}
	// A segment is ended after half a second, so that in the end all are compacted.
	for name, value := range map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "1048576", "max.compaction.lag.ms": "500", "delete.retention.ms": "200",
	} {
		configs[name] = &value
	}
	_, err = admin.CreateTopic(t.Context(), 1, 1, configs, topic)
	require.NoError(t, err)
	key := func(i int) []byte { return fmt.Append(nil, "key-", i) }
	var records []*kgo.Record
	for i := range updates {
		records = append(records, &kgo.Record{Key: key(i * 7 % keys), Value: fmt.Append(nil, i, strings.Repeat(" x", 200))})
	}
	require.NoError(t, producer.ProduceSync(t.Context(), records...).FirstErr())

	var left []*kgo.Record
	clienttest.Await(t, "one record of each key", func() bool {
		left = readAll(t, addr, topic, 0, updates)
		return len(left) == keys
	})
	for i, r := range left {
		require.EqualValues(t, updates-keys+i, r.Offset)
		require.Equal(t, records[r.Offset].Key, r.Key)
		require.Equal(t, records[r.Offset].Value, r.Value)
	}
	require.Len(t, readAll(t, addr, topic, updates/2, updates), keys, "from where records have gone")
	starts, err := admin.ListStartOffsets(t.Context(), topic)
	require.NoError(t, err)
	start, _ := starts.Lookup(topic, 0)
	require.Zero(t, start.Offset)

	for i := range keys / 2 {
		require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Key: key(i)}).FirstErr())
	}
	end := int64(updates + keys/2)
	clienttest.Await(t, "the tombstones to go", func() bool {
		// Only what is new makes a partition worth the work.
		require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Key: []byte("more"), Value: []byte("x")}).FirstErr())
		end++
		seen := map[string]int{}
		for _, r := range readAll(t, addr, topic, 0, end) {
			seen[string(r.Key)]++
		}
		for i := range keys / 2 {
			if seen[string(key(i))] > 0 {
				return false
			}
		}
		for i := keys / 2; i < keys; i++ {
			require.Equal(t, 1, seen[string(key(i))])
		}
		return true
	})
}

// readAll reads a partition from an offset up to its end, as a consumer does that must know when it is there.
func readAll(t *testing.T, addr, topic string, from, end int64) (all []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
	require.NoError(t, err)
	defer client.Close()
	last := from - 1
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for last < end-1 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			require.Greater(t, r.Offset, last, "in order, and once")
			last = r.Offset
			all = append(all, r)
		})
	}
	return all
}
