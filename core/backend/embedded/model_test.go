package embedded_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestModel holds a partition against a list of records, through appends, reads
// of every kind, checkpoints, retention, restarts and crashes.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt)
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"end":    m.end,
			"append": m.append,
			"read":   m.read,
			"time":   m.time,
			"resend": m.resend,
			"tick":   func(rt *rapid.T) { require.NoError(rt, m.store.Tick()) },
			"retain": m.retain,
			"delete": m.delete,
			"elapse": func(rt *rapid.T) {
				m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(rt, "time"))
			},
			"": m.check,
		})
	})
}

const modelRetention = 30 * time.Minute

type model struct {
	*box
	p     backend.Partition
	now   time.Time
	start int64
	all   []backendtest.Record // by offset, from 0 on
	sizes []int                // of their batches, in bytes
	base  []int64              // of their batches
	last  recordtest.Batch     // of the producer; no records: none yet
	at    int64                // its offset
	seq   int32
}

func newModel(t *testing.T, rt *rapid.T) *model {
	m := &model{now: time.UnixMilli(recordtest.Time)}
	cfg := embedded.DefaultConfig()
	cfg.Sync = rapid.Bool().Draw(rt, "sync")
	cfg.OpenFiles = 16
	b := newBox(t, nil, cfg)
	b.close()
	b.opts.Now = func() time.Time { return m.now }
	b.open()
	m.box = b
	m.p = newTopic(b, "t", "segment.bytes", "1048576", "retention.bytes", "3000000",
		"retention.ms", fmt.Sprint(modelRetention.Milliseconds()), "segment.ms", "3600000")
	return m
}

func (m *model) append(rt *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(rt, "records")
	size := rapid.SampledFrom([]int{10, 3000, 60_000}).Draw(rt, "size")
	b := recordtest.New()
	for i := range n {
		b.Records = append(b.Records, recordtest.Record{
			Value:     []byte(fmt.Sprint(len(m.all)+i, " ") + strings.Repeat("x", size)),
			Timestamp: m.now.UnixMilli() + rapid.Int64Range(-5000, 5000).Draw(rt, "skew"),
		})
	}
	b.Codec = rapid.SampledFrom([]record.Codec{record.None, record.LZ4}).Draw(rt, "codec")
	if rapid.Bool().Draw(rt, "idempotent") {
		b = b.From(4, 0, m.seq)
		m.seq += int32(n)
		m.last, m.at = b, int64(len(m.all))
	}
	out := appendOne(m.store, m.p, b)
	require.Equal(rt, backend.Appended{BaseOffset: int64(len(m.all)), LogStart: m.start, AppendTime: -1}, out)
	base := int64(len(m.all))
	for i, r := range b.Records {
		m.all = append(m.all, backendtest.Record{Offset: base + int64(i), Timestamp: r.Timestamp, Value: r.Value})
		m.sizes, m.base = append(m.sizes, len(b.Bytes())), append(m.base, base)
	}
}

func (m *model) resend(rt *rapid.T) {
	if len(m.last.Records) == 0 {
		return
	}
	out := appendOne(m.store, m.p, m.last)
	require.Equal(rt, backend.Appended{BaseOffset: m.at, LogStart: m.start, AppendTime: -1, Duplicate: true}, out)
}

func (m *model) read(rt *rapid.T) {
	end := int64(len(m.all))
	offset := rapid.Int64Range(m.start, end).Draw(rt, "offset")
	limit := rapid.SampledFrom([]int{0, 100, 70_000, 5_000_000}).Draw(rt, "limit")
	first := rapid.Bool().Draw(rt, "at least one")
	b, bounds, err := m.store.Read(m.Context(), backend.Read{Partition: m.p, Offset: offset, MaxBytes: limit, AtLeastOne: first})
	require.NoError(rt, err)
	require.Equal(rt, backend.Bounds{Start: m.start, End: end}, bounds)
	got := backendtest.Records(m, b)
	if offset == end || m.sizes[offset] > limit && !first {
		require.Empty(rt, got)
		return
	}
	require.NotEmpty(rt, got)
	require.Equal(rt, m.base[offset], got[0].Offset)
	require.Equal(rt, m.all[got[0].Offset:][:len(got)], got)
	if len(b) > limit {
		require.Len(rt, b, m.sizes[offset], "only the first batch may be larger")
	}
	size, _, err := m.store.Available(m.Context(), m.p, offset, 1<<40)
	require.NoError(rt, err)
	want := 0
	for at := m.base[offset]; at < end; at++ {
		if at == m.base[at] {
			want += m.sizes[at]
		}
	}
	require.EqualValues(rt, want, size)
}

func (m *model) time(rt *rapid.T) {
	ms := m.now.UnixMilli() + rapid.Int64Range(-4_000_000, 6000).Draw(rt, "time")
	want, latest := backend.Found{Offset: -1, Timestamp: -1}, backend.Found{Offset: -1, Timestamp: -1}
	for _, r := range m.all[m.start:] {
		if want.Offset < 0 && r.Timestamp >= ms {
			want = backend.Found{Offset: r.Offset, Timestamp: r.Timestamp}
		}
		if r.Timestamp > latest.Timestamp {
			latest = backend.Found{Offset: r.Offset, Timestamp: r.Timestamp}
		}
	}
	got, err := m.store.FindTime(m.Context(), m.p, ms)
	require.NoError(rt, err)
	require.Equal(rt, want, got)
	got, err = m.store.FindMaxTime(m.Context(), m.p)
	require.NoError(rt, err)
	require.Equal(rt, latest, got)
}

// end ends the store, in order or not, and opens it again. It takes long, so it
// is done less often than the rest.
func (m *model) end(rt *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(rt, "end") {
	case 0:
		m.reopen()
	case 1:
		m.kill()
	}
}

// retain checks that nothing goes that has to stay.
func (m *model) retain(rt *rapid.T) {
	before := m.start
	m.store.Retain()
	bounds, err := m.store.Bounds(m.Context(), m.p)
	require.NoError(rt, err)
	require.GreaterOrEqual(rt, bounds.Start, before)
	m.start = bounds.Start
	if m.start == before {
		return
	}
	left, old := 0, true
	for at := range int64(len(m.all)) {
		if at >= m.start && at == m.base[at] {
			left += m.sizes[at]
		}
		if at >= before && at < m.start && m.now.UnixMilli()-m.all[at].Timestamp <= modelRetention.Milliseconds() {
			old = false
		}
	}
	require.True(rt, old || left >= 3_000_000-1048576, "%d bytes left, and records before %d are not old", left, m.start)
	if m.start < int64(len(m.all)) {
		require.Equal(rt, m.start, m.base[m.start], "the log begins with a batch")
	}
}

// delete moves the start of the log to any record, or does not.
func (m *model) delete(rt *rapid.T) {
	end := int64(len(m.all))
	before := rapid.OneOf(
		rapid.Int64Range(m.start-2, end+2), rapid.Int64Range(m.start, min(m.start+2, end)), rapid.Just(end),
	).Draw(rt, "before")
	start, err := m.store.DeleteRecords(m.Context(), m.p, before)
	if before > end {
		require.ErrorIs(rt, err, backend.ErrOffsetOutOfRange)
		return
	}
	require.NoError(rt, err)
	m.start = max(m.start, before)
	require.Equal(rt, m.start, start)
	size := 0
	for at := m.start; at < end; at++ {
		if at == m.start || at == m.base[at] {
			size += m.sizes[at]
		}
	}
	sizes, err := m.store.Sizes(m.Context(), m.p.Topic)
	require.NoError(rt, err)
	require.GreaterOrEqual(rt, sizes[0], int64(size))
	require.LessOrEqual(rt, sizes[0], int64(size+1048576), "whole segments below the start are gone")
	for _, at := range []int64{m.start - 1, end + 1} {
		_, bounds, err := m.store.Read(m.Context(), backend.Read{Partition: m.p, Offset: at, MaxBytes: 100, AtLeastOne: true})
		require.ErrorIs(rt, err, backend.ErrOffsetOutOfRange)
		require.Equal(rt, backend.Bounds{Start: m.start, End: end}, bounds)
	}
}

// check looks at the ends, and now and then at all of it.
func (m *model) check(rt *rapid.T) {
	bounds, err := m.store.Bounds(m.Context(), m.p)
	require.NoError(rt, err)
	require.Equal(rt, backend.Bounds{Start: m.start, End: int64(len(m.all))}, bounds)
	if rapid.IntRange(0, 9).Draw(rt, "all") == 0 {
		got := slices.DeleteFunc(readLog(m, m.store, m.p), func(r backendtest.Record) bool {
			return r.Offset < m.start // the batch that holds the start comes whole
		})
		require.Len(rt, got, len(m.all)-int(m.start))
		for i := range got {
			require.Equal(rt, m.all[int(m.start)+i].Offset, got[i].Offset)
			require.Equal(rt, string(m.all[int(m.start)+i].Value), string(got[i].Value))
		}
	}
}

// TestCheckpointAfterRetention: a partition that retention wrote down is not
// put on the list of the next checkpoint a second time.
func TestCheckpointAfterRetention(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, embedded.DefaultConfig())
	p := newTopic(b, "t", "retention.bytes", "1")
	large := recordtest.Values(strings.Repeat("x", 70_000))
	require.NoError(t, appendOne(b.store, p, large).Err)
	b.store.Retain()
	for range 3 {
		require.NoError(t, appendOne(b.store, p, large.At(time.Now().UnixMilli())).Err)
	}
	require.NoError(t, b.store.Tick())
	require.Len(t, readLog(t, b.store, p), 3)
}
