package iggy

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// Whatever became of a request that was lost, its records are stored once.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"not written": {lostUnwritten}, "written": {lostWritten}, "written later": {lostLate},
		"again and again": {lostUnwritten, lostUnwritten, lostUnwritten, lostLate},
	} {
		for _, natives := range [][]string{nil, {"n1", "n2"}} {
			t.Run(fmt.Sprint(name, " ", len(natives)), func(t *testing.T) {
				t.Parallel()
				f := newWriterFakes(t, 1)
				require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
				f.writes.fails(faults...)
				f.writes.before, f.writes.after = natives, natives
				n := int64(len(natives))
				require.Equal(t, stored(1+n), f.append(0, by(1, 1, "b", "c")))
				require.Equal(t, twice(1+n), f.append(0, by(1, 1, "b", "c")))
				f.writes.fails(faults...)
				require.Equal(t, stored(3+3*n), f.append(0, recordtest.Values("d")))
				require.Equal(t, stored(4+5*n), f.append(0, by(1, 3, "e")))
				require.Len(t, f.values(0), int(5+6*n))
				f.freed(0)
			})
		}
	}
}

// Until it is known what became of a request its partition takes nothing in, and
// others are not held up.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{lostWritten, lostUnwritten, lostLate} {
		f := newWriterFakes(t, 2)
		arrived, let := f.hold()
		f.writes.fails(fault)
		head := f.begin(0, by(1, 0, "a"))
		<-arrived
		goes := f.begin(0, by(2, 0, "b")) // merged with the next
		f.writes.setAway(false)
		f.records.fail(backend.ErrUnavailable) // cannot be asked
		let(1)
		require.ErrorIs(t, goes.wait(t).Err, backend.ErrUnavailable, "what waits behind it is told at once")
		require.ErrorIs(t, f.append(0, by(3, 0, "c")).Err, backend.ErrUnavailable, "and what comes")
		require.True(t, head.waits())
		f.records.fail(nil)
		let(100)
		require.Equal(t, stored(0), head.wait(t))
		require.Equal(t, stored(1), f.append(0, by(3, 0, "c")))
		require.Equal(t, twice(0), f.append(0, by(1, 0, "a")))
		require.Equal(t, []string{"a", "c"}, f.values(0))
		f.freed(0)
	}
}

// Nobody waits for it any more: what is not stored is dropped, what is stored is
// known when it is sent again.
func TestLostAndLeft(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fault]backend.Appended{lostUnwritten: stored(0), lostWritten: twice(0), lostLate: twice(0)} {
		f := newWriterFakes(t, 1)
		arrived, let := f.hold()
		f.writes.fails(fault)
		head := f.begin(0, by(1, 0, "a"))
		<-arrived
		f.records.fail(backend.ErrUnavailable)
		let(1)
		require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
		head.cancel()
		got := head.wait(t)
		require.ErrorIs(t, got.Err, backend.ErrOutcomeUnknown)
		f.records.fail(nil)
		f.idle(0)
		let(100)
		require.Equal(t, want, f.append(0, by(1, 0, "a")))
		require.Equal(t, stored(1), f.append(0, by(1, 1, "b")))
		require.Equal(t, []string{"a", "b"}, f.values(0))
		f.freed(0)
	}
}

// Of what was merged and lost, only that is sent again for which somebody waits;
// what then does not follow is refused.
func TestLostAndPartlyLeft(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "zero")))
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	left, follows := f.begin(0, by(1, 1, "a")), f.begin(0, by(1, 2, "b"))
	other := f.begin(0, by(2, 0, "c"))
	let(1)
	require.Equal(t, stored(1), first.wait(t))
	<-arrived
	f.writes.fails(lostUnwritten)
	f.records.fail(backend.ErrUnavailable)
	let(1)
	require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
	left.cancel()
	require.ErrorIs(t, left.wait(t).Err, backend.ErrOutcomeUnknown)
	f.records.fail(nil)
	let(100)
	require.ErrorIs(t, follows.wait(t).Err, backend.ErrOutOfOrderSequence)
	require.Equal(t, stored(2), other.wait(t))
	require.Equal(t, stored(3), f.append(0, by(1, 1, "a")))
	require.Equal(t, stored(4), f.append(0, by(1, 2, "b")))
	f.freed(0)
}

// The server acknowledges, and goes before it has said where the log ends.
func TestStoredAndAway(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	arrived, let := f.hold()
	a := f.begin(0, by(1, 1, "b"))
	<-arrived
	f.records.fail(backend.ErrUnavailable)
	let(1)
	require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
	f.records.fail(nil)
	require.Equal(t, stored(1), a.wait(t))
	require.Equal(t, []string{"a", "b"}, f.values(0))
}

// While the server is away everything is refused at once, and goes on by itself.
func TestAway(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	f.writes.setAway(true)
	for range 3 {
		require.ErrorIs(t, f.append(0, by(1, 1, "b")).Err, backend.ErrUnavailable)
	}
	require.Equal(t, twice(0), func() backend.Appended {
		f.writes.setAway(false)
		return f.append(0, by(1, 0, "a"))
	}())
	require.Equal(t, stored(1), f.append(0, by(1, 1, "b")))
	f.freed(0)
}

// A server that comes back with less than it had acknowledged: nothing is written
// over offsets that were given out.
func TestServerLosesRecords(t *testing.T) {
	t.Parallel()
	for _, accept := range []bool{false, true} {
		f := newWriterFakes(t, 1, func(f *fakes) { f.cfg.AcceptTruncation = accept })
		for i := range int32(5) {
			require.Equal(t, stored(int64(i)), f.append(0, by(1, i, fmt.Sprint(i))))
		}
		f.writes.setAway(true)
		require.ErrorIs(t, f.append(0, by(1, 5, "x")).Err, backend.ErrUnavailable)
		f.records.change(0, func(l *fakeLog) { l.last = 2 })
		f.writes.setAway(false)
		if !accept {
			require.ErrorIs(t, f.append(0, by(1, 5, "x")).Err, backend.ErrStorage)
			require.ErrorIs(t, f.append(0, recordtest.Values("x")).Err, backend.ErrStorage)
			require.Len(t, f.values(0), 3)
			continue
		}
		require.ErrorIs(t, f.append(0, by(1, 5, "x")).Err, backend.ErrOutOfOrderSequence, "what is lost is not known")
		require.Equal(t, stored(3), f.append(0, by(1, 3, "3 again")))
		require.Equal(t, twice(1), f.append(0, by(1, 1, "1")))
	}
}

// Close while it is not known what became of a request.
func TestCloseUnsettled(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	f.writes.fails(lostWritten)
	f.records.fail(nil)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	arrived, let := f.hold()
	f.writes.fails(lostWritten)
	a := f.begin(0, by(1, 1, "b"))
	<-arrived
	f.records.fail(backend.ErrUnavailable)
	let(1)
	require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, f.Store.Close())
	require.ErrorIs(t, a.wait(t).Err, backend.ErrOutcomeUnknown)
	f.records.fail(nil)
	f.again()
	let(100)
	require.Equal(t, twice(1), f.append(0, by(1, 1, "b")))
	require.Equal(t, stored(2), f.append(0, by(1, 2, "c")))
}

// The topic goes while it is not known what became of a request.
func TestTopicGoesUnsettled(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	f.writes.fails(lostUnwritten)
	arrived, let := f.hold()
	a := f.begin(0, recordtest.Values("a"))
	<-arrived
	f.records.fail(backend.ErrUnavailable)
	let(1)
	require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, f.DeleteTopic(context.Background(), f.topic.ID))
	f.records.fail(nil)
	require.ErrorIs(t, a.wait(t).Err, backend.ErrUnknownTopic)
	require.Empty(t, f.values(0))
}
