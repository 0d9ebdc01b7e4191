package iggy

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

const manyBytes = 1 << 20

func (f *readerFakes) read(index int32, offset int64, most int) ([]backendtest.Record, backend.Bounds) {
	f.Helper()
	b, bounds, err := f.Read(context.Background(), backend.Read{Partition: f.id(index), Offset: offset, MaxBytes: most})
	require.NoError(f, err)
	return backendtest.Records(f, b), bounds
}

// consume reads from an offset to the end, as a consumer does, which passes over
// control batches and gaps.
func (f *readerFakes) consume(index int32, at int64, most int) (all []backendtest.Record) {
	f.Helper()
	for {
		b, bounds, err := f.Read(context.Background(), backend.Read{Partition: f.id(index), Offset: at, MaxBytes: most, AtLeastOne: true})
		require.NoError(f, err)
		if at >= bounds.End {
			return all
		}
		next := at
		for len(b) > 0 {
			batch, rest, err := record.Parse(b)
			require.NoError(f, err)
			require.GreaterOrEqual(f, batch.BaseOffset, next-int64(batch.LastOffsetDelta), "batches overlap")
			if !batch.Control() {
				for _, r := range backendtest.Records(f, batch.Bytes) {
					if r.Offset >= at {
						all = append(all, r)
					}
				}
			}
			next, b = batch.LastOffset()+1, rest
		}
		require.Greater(f, next, at, "no progress at %d of %+v", at, bounds)
		at = next
	}
}

func offsets(rs []backendtest.Record) (all []int64) {
	for _, r := range rs {
		all = append(all, r.Offset)
	}
	return all
}

// What was just produced needs no poll.
func TestTailIsServedFromTheCache(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.bounds(0)
	first := f.produce(0, recordtest.Values("a", "b").Compressed(record.Zstd), 1)
	second := f.produce(0, recordtest.Values("c"), 2)
	f.records.polls()
	want := append(bytes.Clone(first.Bytes), second.Bytes...)
	for _, offset := range []int64{0, 1} {
		got, bounds, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: offset, MaxBytes: manyBytes})
		require.NoError(t, err)
		require.Equal(t, want, got, "the batch that holds the offset comes whole, as it was produced")
		require.Equal(t, backend.Bounds{End: 3}, bounds)
		n, _, err := f.Available(t.Context(), f.id(0), offset, manyBytes)
		require.NoError(t, err)
		require.EqualValues(t, len(want), n)
	}
	for _, a := range f.records.polls() {
		require.NotEqual(t, iggcon.OffsetPollingStrategy(0), a.from, "no message was polled")
	}
}

func (f *readerFakes) bounds(index int32) backend.Bounds {
	f.Helper()
	b, err := f.Bounds(context.Background(), f.id(index))
	require.NoError(f, err)
	return b
}

// Records of native clients between those of the gateway come from a poll that
// ends where the next batch of the cache begins.
func TestGapsInTheCacheArePolled(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.produce(0, recordtest.Values("a", "b"), 1)
	f.records.add(0, 2, natives("n1", "n2", "n3")...)
	f.produce(0, recordtest.Values("c", "d"), 3)
	for offset := range int64(7) {
		got := f.consume(0, offset, manyBytes)
		require.Len(t, got, 7-int(offset))
		for i, r := range got {
			require.Equal(t, offset+int64(i), r.Offset)
		}
	}
	f.records.polls()
	f.consume(0, 3, manyBytes)
	var counts []uint32
	for _, a := range f.records.polls() {
		if a.from.Kind == iggcon.POLLING_OFFSET {
			counts = append(counts, a.count)
		}
	}
	require.Equal(t, []uint32{2}, counts)
}

// The count of a poll follows the bytes that are wanted and the size of messages.
func TestPollsAreWorthTheirBytes(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, noCache)
	var ms []string
	for i := range 2000 {
		ms = append(ms, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 996)))
	}
	f.records.add(0, 1, natives(ms...)...)
	f.records.polls()
	got := f.consume(0, 0, 100_000)
	require.Len(t, got, 2000)
	polled := 0
	for _, a := range f.records.polls() {
		require.LessOrEqual(t, a.count, uint32(101))
		polled += int(a.count)
	}
	require.Less(t, polled, 2600, "little is polled twice")
}

// Messages that are much larger than those before cost no endless memory.
func TestRepliesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.maxReply = 200_000
	small := make([]string, 1000)
	for i := range small {
		small[i] = "s"
	}
	f.records.add(0, 1, natives(small...)...)
	f.records.add(0, 1, natives(strings.Repeat("l", 90_000), strings.Repeat("m", 90_000), strings.Repeat("n", 90_000))...)
	require.Len(t, f.consume(0, 0, manyBytes), 1003)
	b, _, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: 1000, MaxBytes: 10, AtLeastOne: true})
	require.NoError(t, err)
	require.Equal(t, []int64{1000}, offsets(backendtest.Records(t, b)), "the first comes whatever its size")
	got, _ := f.read(0, 1000, 50_000)
	require.Empty(t, got)
}

// The first poll for many does not trust a small message at the start of a log.
func TestFirstPollKnowsTheSizes(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 2, soleReader)
	f.records.add(0, 1, natives("small")...)
	for range 100 {
		f.records.add(0, 1, natives(strings.Repeat("l", 100_000))...)
	}
	f.Store.server = &detailed{fakeServer: f.server, records: f.records}
	f.read(0, 0, manyBytes)
	for _, a := range f.records.polls() {
		require.LessOrEqual(t, a.count, uint32(11))
	}
}

// What a poll brought beyond the room is not polled again.
func TestRestOfAPollIsKept(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	small := make([]string, 100)
	for i := range small {
		small[i] = "s"
	}
	f.records.add(0, 1, natives(small...)...)
	large := make([]string, 100)
	for i := range large {
		large[i] = strings.Repeat("l", 10_000)
	}
	f.records.add(0, 1, natives(large...)...)
	f.read(0, 0, manyBytes)
	f.records.polls()
	require.Len(t, f.consume(0, 100, 50_000), 100)
	polled := 0
	for _, a := range f.records.polls() {
		if a.from.Kind == iggcon.POLLING_OFFSET {
			polled += int(a.count)
		}
	}
	require.Less(t, polled, 150)
	require.LessOrEqual(t, f.Store.cache.bytes, f.cfg.CacheBytes)
}

// While Iggy is away, what is in the cache is served, and everything else refused
// at once.
func TestServedWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 2)
	f.bounds(0)
	f.produce(0, recordtest.Values("a"), 1)
	f.records.fail(backend.ErrUnavailable)
	f.part(0).expire()
	got, bounds := f.read(0, 0, manyBytes)
	require.Equal(t, []int64{0}, offsets(got))
	require.Equal(t, backend.Bounds{End: 1}, bounds)
	_, _, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: 1, MaxBytes: manyBytes})
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, _, err = f.Available(t.Context(), f.id(1), 0, 1)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	f.records.fail(nil)
	_, bounds = f.read(0, 1, manyBytes)
	require.Equal(t, backend.Bounds{End: 1}, bounds)
}

// Consumers get the same records whether there is a cache or not, whoever wrote
// them, whatever they ask for.
func TestCacheMakesNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		budget := rapid.SampledFrom([]int64{0, 500, 2000, 1 << 20}).Draw(rt, "budget")
		with := newReaderFakes(t, 1, soleReader, func(f *fakes) { f.cfg.CacheBytes = budget })
		without := newReaderFakes(t, 1, soleReader, noCache)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			values := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,60}`), 1, 8).Draw(rt, "values")
			if rapid.Bool().Draw(rt, "native") {
				for _, f := range []*readerFakes{with, without} {
					f.records.add(0, 1, natives(values...)...)
				}
				continue
			}
			codec := rapid.SampledFrom([]record.Codec{record.None, record.Gzip, record.LZ4}).Draw(rt, "codec")
			for _, f := range []*readerFakes{with, without} {
				f.produce(0, recordtest.Values(values...).Compressed(codec), 1)
			}
		}
		for _, f := range []*readerFakes{with, without} {
			f.produce(0, recordtest.Values("last"), 1)
		}
		end := with.bounds(0).End
		for range 4 {
			at := rapid.Int64Range(0, end).Draw(rt, "offset")
			most := rapid.IntRange(1, 400).Draw(rt, "most")
			require.Equal(rt, without.consume(0, at, most), with.consume(0, at, most))
		}
		require.LessOrEqual(rt, with.Store.cache.bytes, budget)
	})
}

// expire makes what is known of the ends too old.
func (p *partition) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startedAt, p.endedAt = p.startedAt.Add(-1e12), p.endedAt.Add(-1e12)
}

// What is cached of a topic goes with it; what readers count is shown.
func TestDeletedTopicsLeaveTheCache(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	f := newReaderFakes(t, 1, func(f *fakes) { f.opts.Metrics = reg })
	shown := func(name string) (value float64) {
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "kafka_gateway_iggy_"+name {
				m := family.GetMetric()[0]
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		t.Fatal("no metric " + name)
		return 0
	}
	f.produce(0, recordtest.Values("a"), 1)
	require.Greater(t, shown("cache_bytes"), 60.0)
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
	require.Zero(t, shown("cache_bytes"))
	require.Zero(t, shown("unreadable_messages_total"))
}

// Consumers get past offsets at the end of a log of which nothing can be read.
func TestConsumersPassOverGaps(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("a", "b", "c", "d")...)
	f.records.change(0, tear(2, 3))
	for at := int64(0); at < 4; {
		b, bounds, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: at, MaxBytes: manyBytes})
		require.NoError(t, err)
		got := kmsg.FetchResponseTopicPartition{HighWatermark: bounds.End, LastStableOffset: bounds.End, RecordBatches: b}
		_, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", Offset: at}, &got, kgo.DefaultDecompressor(), nil)
		require.Greater(t, next, at, "franz-go goes on")
		at = next
	}
}
