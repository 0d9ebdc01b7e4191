package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// startSlowly opens a store that compacts by itself, at a few bytes a second, and
// returns once it has begun to write a segment.
func startSlowly(t *testing.T, b *box) backend.Partition {
	b.cfg.Compaction.Interval, b.cfg.Compaction.Rate = 100*time.Millisecond, 150
	b.open()
	p := newTopic(b, "slow", "cleanup.policy", "compact", "segment.bytes", "1048576", "min.cleanable.dirty.ratio", "0")
	put(b, p, pairs(time.Now().UnixMilli(), "a=1"))
	put(b, p, pairs(time.Now().UnixMilli(), "large="+strings.Repeat("x", 600_000)).Compressed(record.Zstd))
	// The next segment, which stays the last one: another batch would end it, and to
	// read it at this rate takes hours.
	put(b, p, pairs(time.Now().UnixMilli(), "a="+strings.Repeat("x", 1<<20)))
	require.Eventually(t, b.store.Compacting, time.Minute, time.Millisecond)
	return p
}

// Neither the end of the store nor that of the topic waits for a compaction, and
// nobody hears of it.
func TestCompactionIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{false, true} {
		b := newBox(t, nil, embedded.DefaultConfig())
		b.close()
		logs := watchLog(b)
		p := startSlowly(t, b)
		if remove {
			require.NoError(t, b.store.DeleteTopic(t.Context(), p.Topic))
		}
		began := time.Now()
		b.close()
		require.Less(t, time.Since(began), 20*time.Second, "at a byte a second it would take minutes")
		require.Empty(t, logs.All())
		b.cfg.Compaction = embedded.DefaultConfig().Compaction
		b.cfg.Compaction.Interval = time.Hour
		b.open()
		if !remove {
			require.NotEmpty(t, left(t, b.store, p))
			noOrphans(b, p)
		}
		b.close()
	}
}

// The store compacts by itself.
func TestCompactsByItself(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Open(t, func(c *embedded.Config, _ *embedded.Options) { c.Compaction.Interval = 100 * time.Millisecond })
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1, Overrides: map[string]string{
		"cleanup.policy": "compact", "max.compaction.lag.ms": "1",
	}})
	require.NoError(t, err)
	p := backend.Partition{Topic: topic.ID}
	for _, text := range []string{"a=1", "a=2", "a=3"} {
		require.NoError(t, appendOne(s, p, pairs(time.Now().UnixMilli(), text)).Err)
	}
	require.Eventually(t, func() bool { return len(left(t, s, p)) == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"2 a=3"}, left(t, s, p))
}

// What has no key, from before the topic was compacted, does not stay: it has no
// latest. Kafka's cleaner removes it too.
func TestCompactWithoutKeys(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "cleanup.policy", "delete")
	put(b, p, recordtest.Values("x", "y").At(at.ms()))
	put(b, p, pairs(at.ms(), "a=1", "a=2"))
	roll(at)
	require.NoError(t, b.store.AlterTopic(t.Context(), p.Topic, func(present map[string]string) (map[string]string, error) {
		return map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "segment.ms": "1000"}, nil
	}))
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, []string{"3 a=2", "4 x=1"}, left(t, b.store, p))
}

// A segment of very many index entries is exchanged like any other.
func TestCompactLargeSegments(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Compaction.Rate = 0
	b, at, p := newCompactBox(t, cfg)
	const n = 150
	value := strings.Repeat("x", 70_000)
	for i := range n {
		put(b, p, pairs(at.ms(), fmt.Sprintf("%d=%s", i%(n/2+1), value)))
	}
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	for range 2 {
		for i := range int64(n) {
			got, _, err := b.store.Read(t.Context(), backend.Read{Partition: p, Offset: i, MaxBytes: 1, AtLeastOne: true})
			require.NoError(t, err)
			require.Equal(t, max(i, n-(n/2+1)), split(t, got)[0].BaseOffset)
		}
		b.kill()
	}
}
