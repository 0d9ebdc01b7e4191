package iggy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

func tear(offsets ...int64) func(*fakeLog) {
	return func(l *fakeLog) {
		for _, o := range offsets {
			l.torn[o] = true
		}
	}
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// A consumer gets everything but what cannot be read, which is counted and logged
// once, and looked for once.
func TestUnreadableOffsetsAreSkipped(t *testing.T) {
	t.Parallel()
	for name, torn := range map[string][]int64{
		"one": {700}, "the first": {0}, "the last": {999}, "several": {0, 2, 500, 502, 998, 999}, "neighbours": {40, 41, 42},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReaderFakes(t, 1, soleReader)
			f.records.add(0, 1, natives(numbers(1000)...)...)
			f.records.change(0, tear(torn...))
			for round := range 2 {
				f.records.polls()
				got := f.consume(0, f.bounds(0).Start, manyBytes)
				require.Len(t, got, 1000-len(torn))
				for _, r := range got {
					require.NotContains(t, torn, r.Offset)
				}
				if round == 1 {
					require.LessOrEqual(t, len(f.records.polls()), 12, "what cannot be read is known")
				}
			}
			require.EqualValues(t, len(torn), f.Store.skipped.Load())
			lines := messages(f.logs, zapcore.ErrorLevel)
			require.Len(t, lines, len(torn), strings.Join(lines, "\n"))
		})
	}
}

// The start of a log is found although its first message cannot be read.
func TestUnreadableStart(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives(numbers(1000)...)...)
	f.records.change(0, func(l *fakeLog) { l.first = 321 })
	f.records.change(0, tear(321, 500, 659, 660, 661))
	require.Equal(t, backend.Bounds{Start: 321, End: 1000}, f.bounds(0))
	require.Len(t, f.consume(0, 321, manyBytes), 1000-321-5)
	f.records.polls()
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 321, End: 1000}, f.bounds(0))
	require.Len(t, f.records.polls(), 3, "it is not looked for again")
}

// A log of which nothing can be read lets consumers pass.
func TestNothingCanBeRead(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("a", "b", "c")...)
	f.records.change(0, tear(0, 1, 2))
	bounds := f.bounds(0)
	require.EqualValues(t, 3, bounds.End)
	n, _, err := f.Available(t.Context(), f.id(0), bounds.Start, manyBytes)
	require.NoError(t, err)
	require.Positive(t, n)
	b, _, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: bounds.Start, MaxBytes: int(n), AtLeastOne: true})
	require.NoError(t, err)
	batch, rest, err := record.Parse(b)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.EqualValues(t, 2, batch.LastOffset())
	require.Empty(t, f.consume(0, bounds.Start, manyBytes))
}

// What an answer leaves out without an error is passed over, but not at once: it
// may be there in a moment.
func TestMissingOffsets(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives(numbers(100)...)...)
	f.records.change(0, func(l *fakeLog) {
		for o := int64(50); o < 60; o++ {
			delete(l.messages, o)
		}
	})
	got, _ := f.read(0, 50, manyBytes)
	require.Empty(t, got)
	require.Eventually(t, func() bool {
		got, _ := f.read(0, 50, manyBytes)
		return len(got) == 40
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, []span{{50, 60}}, f.part(0).gaps.ranges)
	require.Len(t, f.consume(0, 0, manyBytes), 90)
}

// Messages without payload, which native clients can store, are records with an
// empty value.
func TestEmptyMessages(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("", "b", "", "d", "")...)
	require.Equal(t, []int64{0, 1, 2, 3, 4}, offsets(f.consume(0, f.bounds(0).Start, manyBytes)))
}

// Retention that moves the start under a reader is told.
func TestRetentionUnderAReader(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives(numbers(100)...)...)
	require.Len(t, f.consume(0, 0, manyBytes), 100)
	f.records.change(0, func(l *fakeLog) { l.first = 60 })
	_, bounds, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), Offset: 10, MaxBytes: 1000})
	require.ErrorIs(t, err, backend.ErrOffsetOutOfRange)
	require.Equal(t, backend.Bounds{Start: 60, End: 100}, bounds)
	f.records.change(0, func(l *fakeLog) { l.first = 100 })
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 100, End: 100}, f.bounds(0))
}

// gaps against a set of offsets.
func TestGaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var g gaps
		in := map[int64]bool{}
		for range rapid.IntRange(0, 30).Draw(rt, "adds") {
			first := rapid.Int64Range(0, 60).Draw(rt, "first")
			next := first + rapid.Int64Range(1, 5).Draw(rt, "length")
			news := false
			for o := first; o < next; o++ {
				news = news || !in[o]
				in[o] = true
			}
			require.Equal(rt, news, g.add(first, next))
		}
		require.True(rt, slices.IsSortedFunc(g.ranges, func(a, b span) int { return int(a.first - b.first) }))
		at := rapid.Int64Range(0, 70).Draw(rt, "at")
		readable, until := g.after(at)
		for in[at] {
			at++
		}
		require.Equal(rt, at, readable)
		for at < 70 && !in[at] {
			at++
		}
		if at < 70 {
			require.Equal(rt, at, until)
		} else {
			require.Greater(rt, until, int64(70))
		}
	})
}

// What was killed between log and index lies in front of a message that has been
// acknowledged since: that one is found by its time.
func TestMessagesBehindTornOnesAreSalvaged(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	for i, v := range numbers(100) {
		f.records.add(0, uint64(1000*i), natives(v)...)
	}
	f.records.change(0, tear(0, 50, 70, 99))
	whole := func(at int64, payload string) message.Message {
		m := native(payload, 0)
		m.Header.Offset = uint64(at)
		return m
	}
	f.records.change(0, func(l *fakeLog) {
		l.before = map[int64][]message.Message{
			0:  {whole(0, "torn")},
			50: {whole(50, "torn"), whole(51, "torn")},
			99: {whole(99, "torn")},
		}
	})
	for range 2 {
		got := f.consume(0, f.bounds(0).Start, manyBytes)
		require.Len(t, got, 99, "nothing lies before offset 70")
		for _, r := range got {
			require.Equal(t, fmt.Sprint(r.Offset), string(r.Value))
		}
	}
	require.EqualValues(t, 1, f.Store.skipped.Load())
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 3)
	got, err := f.FindTime(t.Context(), f.id(0), 0)
	require.NoError(t, err)
	require.Zero(t, got.Offset)
}

// An offset is passed over when looks in a row, over some time, do not find it, however
// slow the consumer is; not when an answer leaves it out now and once more in an hour.
func TestMissingInARow(t *testing.T) {
	t.Parallel()
	second := func(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }
	for name, c := range map[string]struct {
		looks []float64 // s
		last  bool      // what the last look says; the others say no
	}{
		"for two seconds":            {[]float64{0, 1, 2}, true},
		"not for so long":            {[]float64{0, 0.5, 1.9}, false},
		"not so often":               {[]float64{0, 2}, false},
		"by a slow consumer":         {[]float64{0, 59, 118}, true},
		"an hour later":              {[]float64{0, 0.1, 3600}, false},
		"an hour later, in a row":    {[]float64{0, 0.1, 3600, 3600.1, 3600.2}, false},
		"an hour later, for so long": {[]float64{0, 0.1, 3600, 3601, 3602}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g gaps
			for i, at := range c.looks {
				require.Equal(t, c.last && i == len(c.looks)-1, g.stillMissing(7, second(at)), "at %v", at)
			}
		})
	}
}
