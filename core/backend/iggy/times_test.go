package iggy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// logged is a message that was appended and carries a time, both in ms.
type logged struct{ appended, carries int64 }

func (f *readerFakes) log(all []logged) {
	for _, l := range all {
		f.records.add(0, uint64(l.appended)*1000, native("v", uint64(l.carries)*1000))
	}
}

// The first record of at least a time, and the largest time, are what going
// through all records finds, wherever the server's own look-up begins.
func TestTimesAgainstAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := newReaderFakes(t, 1, soleReader)
		now := int64(1_000_000)
		var all []logged
		for range rapid.IntRange(0, 60).Draw(rt, "batches") {
			now += rapid.Int64Range(0, 20_000).Draw(rt, "later")
			for range rapid.IntRange(1, 8).Draw(rt, "records") {
				// At most as far ahead as is assumed, and as late as can be.
				carries := now + rapid.Int64Range(-200_000, assumedLead).Draw(rt, "carries")
				all = append(all, logged{now, carries})
			}
		}
		f.log(all)
		torn := map[int64]bool{}
		if n := int64(len(all)); n > 1 {
			for range rapid.IntRange(0, 3).Draw(rt, "torn") {
				torn[rapid.Int64Range(1, n-1).Draw(rt, "offset")] = true
			}
		}
		f.records.change(0, func(l *fakeLog) {
			l.torn = torn
			l.late = uint64(rapid.Int64Range(0, 100_000_000).Draw(rt, "late"))
		})
		ask := rapid.Int64Range(700_000, now+20_000).Draw(rt, "ms")
		want, most := notFound, notFound
		for i, l := range all {
			if torn[int64(i)] {
				continue
			}
			found := backend.Found{Offset: int64(i), Timestamp: l.carries}
			if want == notFound && l.carries >= ask {
				want = found
			}
			if l.carries > most.Timestamp {
				most = found
			}
		}
		got, err := f.FindTime(t.Context(), f.id(0), ask)
		require.NoError(rt, err)
		require.Equal(rt, want, got, "at least %d", ask)
		got, err = f.FindMaxTime(t.Context(), f.id(0))
		require.NoError(rt, err)
		require.Equal(rt, most, got)
	})
}

// A look-up in a long log does not go through all of it.
func TestTimesInALongLog(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	const start = 1_700_000_000_000
	for i := range int64(200) {
		ms := make([]message.Message, 100)
		for j := range ms {
			ms[j] = native("v", uint64(start+1000*i)*1000)
		}
		f.records.add(0, uint64(start+1000*i)*1000, ms...)
	}
	f.bounds(0)
	f.records.polls()
	got, err := f.FindTime(t.Context(), f.id(0), start+100_000)
	require.NoError(t, err)
	require.Equal(t, backend.Found{Offset: 10_000, Timestamp: start + 100_000}, got)
	got, err = f.FindMaxTime(t.Context(), f.id(0))
	require.NoError(t, err)
	require.Equal(t, backend.Found{Offset: 19_900, Timestamp: start + 199_000}, got)
	messages := 0
	for _, a := range f.records.polls() {
		messages += int(a.count)
	}
	require.Less(t, messages, 15_000)
}

func TestTimesOutOfReach(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.log([]logged{{5000, 4000}})
	for _, ms := range []int64{4001, 1 << 53, 1<<63 - 1} {
		got, err := f.FindTime(t.Context(), f.id(0), ms)
		require.NoError(t, err)
		require.Equal(t, notFound, got)
	}
	for _, ms := range []int64{-1 << 63, -1, 0, 4000} {
		got, err := f.FindTime(t.Context(), f.id(0), ms)
		require.NoError(t, err)
		require.Equal(t, backend.Found{Timestamp: 4000}, got)
	}
}
