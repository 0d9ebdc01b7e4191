package embedded_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) add(d time.Duration) { c.now = c.now.Add(d) }
func (c *clock) ms() int64           { return c.now.UnixMilli() }

// newCompactBox opens a store with a clock, and a topic that is compacted whenever
// there is anything to compact.
func newCompactBox(t testing.TB, cfg embedded.Config, configs ...string) (*box, *clock, backend.Partition) {
	at := &clock{time.UnixMilli(recordtest.Time)}
	b := newBox(t, nil, cfg)
	b.close()
	b.opts.Now = func() time.Time { return at.now }
	b.open()
	configs = append([]string{"cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "segment.ms", "1000"}, configs...)
	return b, at, newTopic(b, "t", configs...)
}

// pair is a record of a test: "k=v", or "k" for a tombstone.
func pair(text string, ms int64) recordtest.Record {
	key, value, ok := strings.Cut(text, "=")
	r := recordtest.Record{Key: []byte(key), Timestamp: ms}
	if ok {
		r.Value = []byte(value)
	}
	return r
}

func pairs(ms int64, texts ...string) recordtest.Batch {
	b := recordtest.New()
	for _, text := range texts {
		b.Records = append(b.Records, pair(text, ms))
	}
	return b
}

// put appends one batch.
func put(b *box, p backend.Partition, batch recordtest.Batch) {
	b.Helper()
	require.NoError(b, appendOne(b.store, p, batch).Err)
}

// roll has the next batch begin a segment.
func roll(at *clock) { at.add(2 * time.Second) }

// batches reads the batches of a log from its start on.
func batches(t testing.TB, s *embedded.Store, p backend.Partition) (all []record.Batch) {
	t.Helper()
	bounds, err := s.Bounds(t.Context(), p)
	require.NoError(t, err)
	for at := bounds.Start; at < bounds.End; {
		b, _, err := s.Read(t.Context(), backend.Read{Partition: p, Offset: at, MaxBytes: 1 << 20, AtLeastOne: true})
		require.NoError(t, err)
		some := split(t, b)
		require.NotEmpty(t, some, "from %d", at)
		all = append(all, some...)
		at = some[len(some)-1].LastOffset() + 1
	}
	return all
}

// left is the log as text: "offset key=value", and "first-last" for a batch without
// records.
func left(t testing.TB, s *embedded.Store, p backend.Partition) (all []string) {
	t.Helper()
	for _, b := range batches(t, s, p) {
		require.True(t, b.ValidCRC())
		if b.Count == 0 {
			all = append(all, fmt.Sprintf("%d-%d", b.BaseOffset, b.LastOffset()))
		}
		require.NoError(t, b.Read(t.Context(), 1<<20, func(r *record.Record) error {
			text := fmt.Sprintf("%d %s", b.BaseOffset+int64(r.OffsetDelta), r.Key)
			if r.Value != nil {
				text += "=" + string(r.Value)
			}
			all = append(all, text)
			return nil
		}))
	}
	return all
}

// The latest value of each key stays, where it was; of a segment that has nothing
// left the last batch stays as a header. The segment that is written to is as it was.
func TestCompactKeepsTheLatest(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	put(b, p, pairs(at.ms(), "a=1", "b=1", "a=2"))
	put(b, p, pairs(at.ms(), "c=1").Compressed(record.Zstd))
	roll(at)
	put(b, p, pairs(at.ms(), "b=2", "b=3").Compressed(record.LZ4))
	put(b, p, pairs(at.ms(), "c=2"))
	roll(at)
	put(b, p, pairs(at.ms(), "c=3", "c=4"))
	before, err := b.store.Bounds(t.Context(), p)
	require.NoError(t, err)
	b.store.Compact()
	want := []string{"2 a=2", "5 b=3", "6 c=2", "7 c=3", "8 c=4"}
	require.Equal(t, want, left(t, b.store, p))
	require.Equal(t, []string{"0-00000000000000000000.1.log", "0-00000000000000000007.log"}, b.store.SegmentFiles(p),
		"small segments become one")
	for _, again := range []func() backend.Backend{b.reopen, b.kill, func() backend.Backend { return b.lose(0) }} {
		if again(); !t.Failed() {
			require.Equal(t, want, left(t, b.store, p)[:len(want)])
			after, err := b.store.Bounds(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.NoError(t, b.store.Tick())
			newTopic(b, fmt.Sprint("durable ", at.ms()), "cleanup.policy", "delete")
			at.add(time.Millisecond)
		}
	}
	roll(at)
	put(b, p, pairs(at.ms(), "a=3", "b=4", "c=5"))
	roll(at)
	put(b, p, pairs(at.ms(), "a=4"))
	b.store.Compact()
	require.Equal(t, []string{"9 a=3", "10 b=4", "11 c=5", "12 a=4"}, left(t, b.store, p))
	files, err := b.fs.List("/data/topics/" + p.Topic.String())
	require.NoError(t, err)
	require.ElementsMatch(t, b.store.SegmentFiles(p), files, "nothing is left of what was replaced")
}

// A segment of which nothing stays keeps its last batch as a header, so that the log
// has no end before its end.
func TestCompactEmptySegment(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "segment.bytes", "1048576")
	large := strings.Repeat("x", 600_000)
	for range 2 {
		put(b, p, pairs(at.ms(), "a="+large, "a=1"))
		put(b, p, pairs(at.ms(), "b=1"))
		roll(at)
	}
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	want := []string{"2-2", "4 a=1", "5 b=1", "6 x=1"}
	for range 2 {
		require.Equal(t, want, left(t, b.store, p))
		require.Equal(t, []string{"0-00000000000000000000.1.log", "0-00000000000000000003.1.log", "0-00000000000000000006.log"},
			b.store.SegmentFiles(p))
		for offset, first := range map[int64]int64{0: 2, 2: 2, 3: 3, 6: 6} {
			got, bounds, err := b.store.Read(t.Context(), backend.Read{Partition: p, Offset: offset, MaxBytes: 1, AtLeastOne: true})
			require.NoError(t, err)
			require.Equal(t, backend.Bounds{End: 7}, bounds)
			require.Equal(t, first, split(t, got)[0].BaseOffset)
		}
		latest, err := b.store.FindMaxTime(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, backend.Found{Offset: 6, Timestamp: at.ms()}, latest)
		first, err := b.store.FindTime(t.Context(), p, 0)
		require.NoError(t, err)
		require.Equal(t, backend.Found{Offset: 4, Timestamp: at.ms() - 2000}, first, "a batch without records is not found")
		b.kill()
	}
	// Now both are small, and become one.
	roll(at)
	put(b, p, pairs(at.ms(), "x=2"))
	b.store.Compact()
	require.Equal(t, []string{"4 a=1", "5 b=1", "6 x=1", "7 x=2"}, left(t, b.store, p))
	require.Equal(t, []string{"0-00000000000000000000.2.log", "0-00000000000000000007.log"}, b.store.SegmentFiles(p))
}

// A tombstone stays for delete.retention.ms behind the compaction that found it, and
// goes with the next one. Kafka 4.4 was seen to do the same: it writes the horizon
// into the batch, and a log without anything new is left as it is.
func TestCompactTombstones(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "delete.retention.ms", "60000")
	put(b, p, pairs(at.ms(), "a=1", "b=1"))
	put(b, p, pairs(at.ms(), "a"))
	at.add(time.Hour)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, []string{"1 b=1", "2 a", "3 x=1"}, left(t, b.store, p))
	all := batches(t, b.store, p)
	horizon, ok := all[1].DeleteHorizon()
	require.True(t, ok)
	require.Equal(t, at.ms()+60_000, horizon, "it counts from the compaction, not from the record")
	_, ok = all[0].DeleteHorizon()
	require.False(t, ok)
	var stamp int64
	require.NoError(t, all[1].Read(t.Context(), 100, func(r *record.Record) error {
		stamp = all[1].BaseTimestamp + r.TimestampDelta
		return nil
	}))
	require.Equal(t, recordtest.Time, stamp, "readers see the time that the record has")

	at.add(59 * time.Second)
	put(b, p, pairs(at.ms(), "x=2"))
	b.store.Compact()
	require.Equal(t, []string{"1 b=1", "2 a", "3 x=1", "4 x=2"}, left(t, b.store, p), "not yet")
	at.add(2 * time.Second)
	b.store.Compact()
	require.Contains(t, left(t, b.store, p), "2 a", "nothing is dirty")
	put(b, p, pairs(at.ms(), "x=3"))
	b.store.Compact()
	require.Equal(t, []string{"1 b=1", "4 x=2", "5 x=3"}, left(t, b.store, p))
}

// The horizon that a producer writes into its batch means nothing.
func TestCompactForeignHorizon(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	batch := pairs(1000, "a")
	batch.Attributes = 0x40
	put(b, p, batch)
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, []string{"0 a", "1 x=1"}, left(t, b.store, p))
	horizon, ok := batches(t, b.store, p)[0].DeleteHorizon()
	require.True(t, ok)
	require.Equal(t, at.ms()+86_400_000, horizon)
}

// What is younger than min.compaction.lag.ms is not touched, nor what is behind it.
func TestCompactMinLag(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "min.compaction.lag.ms", "10000")
	put(b, p, pairs(at.ms(), "a=1", "a=2"))
	at.add(5 * time.Second)
	put(b, p, pairs(at.ms(), "a=3", "a=4"))
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Len(t, left(t, b.store, p), 5)
	at.add(5 * time.Second) // the first segment is 12 s old, the second 7
	b.store.Compact()
	require.Equal(t, []string{"1 a=2", "2 a=3", "3 a=4", "4 x=1"}, left(t, b.store, p))
	at.add(5 * time.Second)
	b.store.Compact()
	require.Equal(t, []string{"3 a=4", "4 x=1"}, left(t, b.store, p))
}

// Without min.compaction.lag.ms, times ahead of the clock hold nothing up.
func TestCompactTimesAhead(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	put(b, p, pairs(at.ms()+3_000_000, "a=1", "a=2"))
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, []string{"1 a=2", "2 x=1"}, left(t, b.store, p))
}

// Compaction waits for min.cleanable.dirty.ratio, but not beyond
// max.compaction.lag.ms, for which a segment is ended that nobody writes to.
func TestCompactRatioAndMaxLag(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig(), "min.cleanable.dirty.ratio", "0.5", "segment.ms", "3600000",
		"max.compaction.lag.ms", "600000")
	put(b, p, pairs(at.ms(), "a=1", "b="+strings.Repeat("x", 1000)))
	put(b, p, pairs(at.ms(), "a=2"))
	b.store.Compact()
	require.Len(t, left(t, b.store, p), 3, "the segment is written to")
	at.add(11 * time.Minute)
	b.store.Compact() // ends it
	require.Equal(t, []string{"1 b=" + strings.Repeat("x", 1000), "2 a=2"}, left(t, b.store, p))
	put(b, p, pairs(at.ms(), "a=3"))
	at.add(9 * time.Minute)
	b.store.Compact()
	require.Len(t, left(t, b.store, p), 3)
	at.add(2 * time.Minute)
	put(b, p, pairs(at.ms(), "x=1")) // begins another
	b.store.Compact()
	require.Equal(t, []string{"1 b=" + strings.Repeat("x", 1000), "3 a=3", "4 x=1"}, left(t, b.store, p), "a little dirt, but old")
}

// The last batch of each producer stays, if only as a header, as in Kafka.
func TestCompactProducers(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	put(b, p, pairs(at.ms(), "a=1").From(1, 0, 0))
	put(b, p, pairs(at.ms(), "a=2", "b=1").From(1, 0, 1))
	put(b, p, pairs(at.ms(), "a=3").From(2, 0, 0))
	put(b, p, pairs(at.ms(), "a=4", "b=2"))
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, []string{"1-2", "3-3", "4 a=4", "5 b=2", "6 x=1"}, left(t, b.store, p))
	one := batches(t, b.store, p)[0]
	require.Equal(t, []any{int64(1), int16(0), int32(1), int32(2)},
		[]any{one.ProducerID, one.ProducerEpoch, one.BaseSequence, one.LastSequence()})
	for range 2 {
		again := appendOne(b.store, p, pairs(at.ms(), "a=1").From(1, 0, 0))
		require.Equal(t, backend.Appended{BaseOffset: 0, AppendTime: -1, Duplicate: true}, again)
		b.kill()
	}
	require.NoError(t, appendOne(b.store, p, pairs(at.ms(), "y=1").From(1, 0, 3)).Err)
	at.add(25 * time.Hour) // they expire
	put(b, p, pairs(at.ms(), "z=1"))
	b.store.Compact()
	require.Equal(t, []string{"4 a=4", "5 b=2", "6 x=1", "7 y=1", "8 z=1"}, left(t, b.store, p))
}

// With compact,delete retention takes whole segments from the front all the same, and
// with compact alone nothing.
func TestCompactAndDelete(t *testing.T) {
	t.Parallel()
	for policy, start := range map[string]int64{"compact,delete": 4, "compact": 0} {
		b, at, p := newCompactBox(t, embedded.DefaultConfig(), "cleanup.policy", policy, "retention.ms", "3600000")
		put(b, p, pairs(at.ms(), "a=1", "b=1"))
		roll(at)
		put(b, p, pairs(at.ms(), "a=2", "c=1"))
		at.add(2 * time.Hour)
		put(b, p, pairs(at.ms(), "x=1"))
		b.store.Compact()
		b.store.Retain()
		for range 2 {
			bounds, err := b.store.Bounds(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, backend.Bounds{Start: start, End: 5}, bounds)
			require.Len(t, left(t, b.store, p), map[int64]int{0: 4, 4: 1}[start])
			b.kill()
		}
	}
}

// What DeleteRecords has deleted is not the latest of a key, and goes.
func TestCompactBehindTheLogStart(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	put(b, p, pairs(at.ms(), "a=1", "b=1", "c=1", "b=2"))
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	start, err := b.store.DeleteRecords(t.Context(), p, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, start)
	b.store.Compact()
	for range 2 {
		bounds, err := b.store.Bounds(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, backend.Bounds{Start: 2, End: 5}, bounds, "compaction does not move the log start")
		require.Equal(t, []string{"2 c=1", "3 b=2", "4 x=1"}, left(t, b.store, p))
		b.kill()
	}
	found, err := b.store.FindTime(t.Context(), p, 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, found.Offset)
}

// More keys than the table holds are compacted in steps, and none is lost.
func TestCompactInSteps(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Compaction.Memory = 64 << 10 // 1,024 keys
	b, at, p := newCompactBox(t, cfg)
	const keys, rounds = 2500, 3
	for round := range rounds {
		batch := recordtest.New()
		for k := range keys {
			batch.Records = append(batch.Records, pair(fmt.Sprintf("%d=%d", k, round), at.ms()))
		}
		put(b, p, batch)
	}
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	for range (keys*rounds)/1024 + 1 {
		b.store.Compact()
	}
	all := left(t, b.store, p)
	require.Len(t, all, keys+1)
	require.Equal(t, "5000 0=2", all[0])
}

// A batch that cannot be read ends the compaction of its partition, and changes
// nothing; others go on.
func TestCompactDamage(t *testing.T) {
	t.Parallel()
	b, at, p := newCompactBox(t, embedded.DefaultConfig())
	logs := watchLog(b)
	b.reopen()
	other := newTopic(b, "other", "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "segment.ms", "1000")
	for _, p := range []backend.Partition{p, other} {
		put(b, p, pairs(at.ms(), "a=1", "a=2"))
	}
	roll(at)
	for _, p := range []backend.Partition{p, other} {
		put(b, p, pairs(at.ms(), "a=3"))
	}
	require.NoError(t, b.store.Tick())
	name := b.fs.PathJoin("/data/topics", p.Topic.String(), b.store.SegmentFiles(p)[0])
	file, err := b.fs.OpenReadWrite(name, "")
	require.NoError(t, err)
	_, err = file.WriteAt([]byte{0xff}, record.HeaderSize+3)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	for range 3 {
		b.store.Compact()
	}
	require.Equal(t, 1, logs.FilterMessageSnippet("is not compacted any more").Len())
	require.Equal(t, []string{"1 a=2", "2 a=3"}, left(t, b.store, other))
	require.Len(t, batches(t, b.store, p), 2)
}

// A batch that swells beyond storage.compaction.memory is not held in memory.
func TestCompactBomb(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Compaction.Memory = 64 << 10
	b, at, p := newCompactBox(t, cfg)
	logs := watchLog(b)
	b.reopen()
	put(b, p, pairs(at.ms(), "a=1", "a=2"))
	bomb := pairs(at.ms(), "b="+strings.Repeat("x", 40_000), "c="+strings.Repeat("x", 40_000))
	put(b, p, bomb.Compressed(record.Zstd))
	roll(at)
	put(b, p, pairs(at.ms(), "x=1"))
	b.store.Compact()
	require.Equal(t, 1, logs.FilterMessageSnippet("is not compacted any more").Len())
	require.Len(t, left(t, b.store, p), 5)
}

func TestCompactionConfig(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	require.NoError(t, cfg.Validate())
	cfg.Compaction = embedded.Compaction{Interval: time.Millisecond, Memory: 1, Rate: -1}
	require.EqualError(t, cfg.Validate(), "storage.compaction.interval: must be at least 100ms\n"+
		"storage.compaction.memory: must be at least 65536\n"+
		"storage.compaction.rate_bytes: must not be negative; 0 means without limit")
	cfg.Compaction = embedded.Compaction{Interval: math.MaxInt64, Memory: math.MaxInt64}
	require.NoError(t, cfg.Validate())
}
