package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestCompactModel holds a compacted partition against all that was ever written to
// it, through compactions, restarts, crashes, losses of power and moves of the start.
func TestCompactModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newCompactModel(t, rt)
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"append":  m.append,
			"compact": m.compact,
			"delete":  m.delete,
			"end":     m.end,
			"elapse": func(rt *rapid.T) {
				m.at.add(rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, time.Minute}).Draw(rt, "time"))
			},
			"tick": func(rt *rapid.T) { require.NoError(rt, m.store.Tick()) },
			"":     m.check,
		})
	})
}

const (
	modelLag       = 3 * time.Second
	modelTombstone = 20 * time.Second
)

// written is a record of the model.
type written struct {
	key, value string
	null       bool
	time       int64
}

type compactModel struct {
	*box
	at    *clock
	p     backend.Partition
	start int64
	all   []written // by offset
	last  recordtest.Batch
	base  int64 // of last
	seq   int32
	lag   time.Duration
	keys  int // that a compaction knows at a time
}

func newCompactModel(t *testing.T, rt *rapid.T) *compactModel {
	cfg := embedded.DefaultConfig()
	cfg.Sync = rapid.Bool().Draw(rt, "sync")
	cfg.OpenFiles, cfg.Compaction.Rate = 16, 0
	m := &compactModel{keys: 1000}
	if rapid.Bool().Draw(rt, "little memory") {
		m.keys = 10
	}
	if rapid.Bool().Draw(rt, "lag") {
		m.lag = modelLag
	}
	m.box, m.at, m.p = newCompactBox(t, cfg, "segment.bytes", "1048576",
		"delete.retention.ms", fmt.Sprint(modelTombstone.Milliseconds()),
		"min.compaction.lag.ms", fmt.Sprint(m.lag.Milliseconds()))
	return m
}

func (m *compactModel) append(rt *rapid.T) {
	b := recordtest.New()
	base := int64(len(m.all))
	for i := range rapid.IntRange(1, 6).Draw(rt, "records") {
		r := recordtest.Record{
			Key:       fmt.Append(nil, rapid.IntRange(0, 15).Draw(rt, "key")),
			Timestamp: m.at.ms() - rapid.Int64Range(0, 2000).Draw(rt, "age"),
		}
		if rapid.IntRange(0, 3).Draw(rt, "tombstone") > 0 {
			r.Value = fmt.Append(nil, base+int64(i), strings.Repeat("x", rapid.SampledFrom([]int{0, 50, 150_000}).Draw(rt, "size")))
		}
		b.Records = append(b.Records, r)
		m.all = append(m.all, written{string(r.Key), string(r.Value), r.Value == nil, r.Timestamp})
	}
	b.Codec = record.Codec(rapid.IntRange(0, 4).Draw(rt, "codec"))
	if rapid.Bool().Draw(rt, "idempotent") {
		b = b.From(4, 0, m.seq)
		m.seq += int32(len(b.Records))
		m.last, m.base = b, base
	}
	out := appendOne(m.store, m.p, b)
	require.Equal(rt, backend.Appended{BaseOffset: base, LogStart: m.start, AppendTime: -1}, out)
}

// compact checks that nothing is left twice in what may be compacted.
func (m *compactModel) compact(rt *rapid.T) {
	m.store.LimitKeys(m.keys)
	for range 1 + len(m.all)/m.keys { // as many as little memory needs
		m.store.Compact()
	}
	if len(m.all) == 0 {
		return
	}
	limit := m.store.Active(m.p)
	for offset, r := range m.all {
		if r.time > m.at.ms()-m.lag.Milliseconds() {
			limit = min(limit, int64(offset))
		}
	}
	seen := map[string]int64{}
	for _, r := range m.read(rt) {
		if r.offset >= limit || m.lag > 0 {
			continue // a whole segment stays for one young record
		}
		before, twice := seen[r.key]
		require.False(rt, twice, "key %s is left at %d and %d", r.key, before, r.offset)
		seen[r.key] = r.offset
	}
}

func (m *compactModel) delete(rt *rapid.T) {
	to := rapid.Int64Range(0, int64(len(m.all))).Draw(rt, "to")
	if to > m.start+3 && rapid.Bool().Draw(rt, "a little") {
		to = m.start + 3
	}
	start, err := m.store.DeleteRecords(m.Context(), m.p, to)
	require.NoError(rt, err)
	m.start = max(m.start, to)
	require.Equal(rt, m.start, start)
}

// end ends the store in some way and opens it again.
func (m *compactModel) end(rt *rapid.T) {
	how := rapid.IntRange(0, 7).Draw(rt, "end")
	switch {
	case how == 0:
		m.reopen()
	case how == 1:
		m.kill()
	case how == 2 && m.cfg.Sync:
		boot := fmt.Sprint("boot ", len(m.all))
		m.opts.BootID = func() string { return boot }
		m.lose(rapid.SampledFrom([]int{0, 40}).Draw(rt, "percent"))
	default:
		return
	}
	if len(m.last.Records) > 0 {
		out := appendOne(m.store, m.p, m.last)
		require.Equal(rt, backend.Appended{BaseOffset: m.base, LogStart: m.start, AppendTime: -1, Duplicate: true}, out)
	}
}

// present is a record that the log still has.
type present struct {
	offset int64
	key    string
	time   int64
	null   bool
}

// read reads the log, and holds each record against what was written.
func (m *compactModel) read(rt *rapid.T) (all []present) {
	end := int64(-1)
	for _, b := range batches(m, m.store, m.p) {
		require.Greater(rt, b.BaseOffset, end)
		end = b.LastOffset()
		require.NoError(rt, b.Read(m.Context(), 1<<20, func(r *record.Record) error {
			offset := b.BaseOffset + int64(r.OffsetDelta)
			if offset < m.start {
				return nil
			}
			got := written{string(r.Key), string(r.Value), r.Value == nil, b.BaseTimestamp + r.TimestampDelta}
			require.Equal(rt, m.all[offset], got, "offset %d", offset)
			all = append(all, present{offset, got.key, got.time, got.null})
			return nil
		}))
	}
	require.Equal(rt, int64(len(m.all))-1, max(end, int64(len(m.all))-1), "nothing behind the end")
	return all
}

// check looks at the ends; now and then at the whole log, look-ups included.
func (m *compactModel) check(rt *rapid.T) {
	bounds, err := m.store.Bounds(m.Context(), m.p)
	require.NoError(rt, err)
	require.Equal(rt, backend.Bounds{Start: m.start, End: int64(len(m.all))}, bounds)
	if rapid.IntRange(0, 3).Draw(rt, "all") > 0 {
		return
	}
	left := m.read(rt)
	latest := map[string]int64{}
	for _, r := range left {
		latest[r.key] = r.offset
	}
	want := map[string]int64{}
	for offset := m.start; offset < int64(len(m.all)); offset++ {
		want[m.all[offset].key] = offset
	}
	for key, offset := range want {
		at, ok := latest[key]
		r := m.all[offset]
		if r.null && !ok {
			require.Greater(rt, m.at.ms(), r.time+modelTombstone.Milliseconds(), "the tombstone at %d went too early", offset)
			continue
		}
		require.True(rt, ok, "key %s is lost; its latest was at %d", key, offset)
		require.Equal(rt, offset, at, "key %s has an old value again", key)
	}
	if m.lag > 0 {
		m.checkLag(rt, left)
	}
	m.checkLookups(rt, left)
}

// checkLag: what is younger than min.compaction.lag.ms is all there.
func (m *compactModel) checkLag(rt *rapid.T, left []present) {
	there := map[int64]bool{}
	for _, r := range left {
		there[r.offset] = true
	}
	for offset := m.start; offset < int64(len(m.all)); offset++ {
		young := m.all[offset].time > m.at.ms()-modelLag.Milliseconds()
		require.True(rt, there[offset] || !young, "offset %d is young", offset)
	}
}

func (m *compactModel) checkLookups(rt *rapid.T, left []present) {
	ms := m.at.ms() - rapid.Int64Range(-1000, 100_000).Draw(rt, "time")
	none := backend.Found{Offset: -1, Timestamp: -1}
	first, latest := none, none
	for _, r := range left {
		if first == none && r.time >= ms {
			first = backend.Found{Offset: r.offset, Timestamp: r.time}
		}
		if r.time > latest.Timestamp {
			latest = backend.Found{Offset: r.offset, Timestamp: r.time}
		}
	}
	got, err := m.store.FindTime(m.Context(), m.p, ms)
	require.NoError(rt, err)
	require.Equal(rt, first, got)
	got, err = m.store.FindMaxTime(m.Context(), m.p)
	require.NoError(rt, err)
	require.Equal(rt, latest, got)

	if m.start == int64(len(m.all)) {
		return
	}
	offset := rapid.Int64Range(m.start, int64(len(m.all))-1).Draw(rt, "offset")
	var want int64
	for _, b := range batches(m, m.store, m.p) {
		if b.LastOffset() >= offset {
			want += int64(len(b.Bytes))
		}
	}
	size, _, err := m.store.Available(m.Context(), m.p, offset, 1<<40)
	require.NoError(rt, err)
	require.Equal(rt, want, size)
	b, _, err := m.store.Read(m.Context(), backend.Read{Partition: m.p, Offset: offset, MaxBytes: 1, AtLeastOne: true})
	require.NoError(rt, err)
	require.GreaterOrEqual(rt, split(m, b)[0].LastOffset(), offset)
}
