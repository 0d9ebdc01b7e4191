package iggy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// consumed returns what a consumer reads of a partition, by offset.
func (f *writerFakes) consumed(index int32) map[int64]string {
	f.Helper()
	all := map[int64]string{}
	for _, r := range f.consume(index, 0, manyBytes) {
		all[r.Offset] = string(r.Value)
	}
	return all
}

// readable is what consumers must find of a log.
func readable(log []string) map[int64]string {
	all := map[int64]string{}
	for offset, v := range log {
		if v != "torn" && v != "void" {
			all[int64(offset)] = v
		}
	}
	return all
}

// A batch whose first message is acknowledged and cannot be read is sent again; it
// comes once, to this gateway's consumers and to those of the next.
func TestTornBatchIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fault{"whole": killed, "in part": killedEarly} {
		for _, sole := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", sole), func(t *testing.T) {
				t.Parallel()
				f := newWriterFakes(t, 1, noCache, func(f *fakes) { f.cfg.SoleWriter = sole })
				require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
				f.writes.fails(fault)
				require.Equal(t, stored(4), f.append(0, by(1, 1, "b", "c", "d")))
				require.Equal(t, []string{"a", "void", "void", "void", "b", "c", "d"}, f.values(0))
				want := map[int64]string{0: "a", 4: "b", 5: "c", 6: "d"}
				require.Equal(t, want, f.consumed(0))
				require.EqualValues(t, 1, f.repaired.Load())
				require.Zero(t, f.skipped.Load())
				require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
				require.Equal(t, twice(4), f.append(0, by(1, 1, "b", "c", "d")))
				f.freed(0)

				f.again()
				require.Equal(t, twice(4), f.append(0, by(1, 1, "b", "c", "d")))
				require.Equal(t, want, f.consumed(0))
				require.Equal(t, stored(7), f.append(0, by(1, 4, "e")))
				require.Zero(t, f.skipped.Load())
			})
		}
	}
}

// The server was killed while the gateway was away, or a native client was writing.
func TestTornBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 5000} {
		f := newWriterFakes(t, 1, noCache)
		f.writes.torn = natives("killed")
		f.writes.write(0, natives("n"))
		f.writes.torn = natives("killed")
		large := fmt.Sprintf("a%*d", size, 0)
		require.Equal(t, stored(2), f.append(0, recordtest.Values(large)))
		require.Equal(t, map[int64]string{0: "n", 2: large}, f.consumed(0))
		f.writes.sends = nil
		require.Equal(t, stored(3), f.append(0, recordtest.Values("c", "d")))
		f.records.polls()
		require.Equal(t, stored(5), f.append(0, recordtest.Values("e")))
		require.Equal(t, []int{2, 1}, f.writes.sent(), "only the first time")
		require.Len(t, f.records.polls(), 1, "for the end")
	}
}

// What lies in front of a torn message is too large to be looked at: producers have
// their answer all the same, and consumers get on.
func TestTornBehindTooMuch(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	f.records.maxReply = 10_000
	large := fmt.Sprintf("%9990d", 0)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("a")))
	f.writes.torn = natives(large)
	f.writes.write(0, natives("lost"))
	f.writes.torn = natives(large)
	f.writes.fails(otherOne)
	require.Equal(t, stored(3), f.append(0, recordtest.Values("b")))
	require.Equal(t, map[int64]string{0: "a", 3: "b"}, f.consumed(0))
	require.EqualValues(t, 1, f.skipped.Load(), "of a native client")
	require.Equal(t, stored(4), f.append(0, recordtest.Values("c")))
	f.freed(0)
}

// What goes wrong with the first batch, one after the other.
func TestFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults []fault
		want   []string
	}{
		"nothing":           {nil, []string{"a", "b", "c"}},
		"lost":              {[]fault{lostUnwritten, lostUnwritten}, []string{"a", "b", "c"}},
		"lost and written":  {[]fault{lostWritten}, []string{"a", "b", "c"}},
		"late":              {[]fault{lostLate}, []string{"a", "b", "c"}},
		"killed":            {[]fault{killed}, []string{"void", "void", "void", "a", "b", "c"}},
		"killed early":      {[]fault{killedEarly}, []string{"void", "void", "void", "a", "b", "c"}},
		"killed late":       {[]fault{killedLate}, []string{"void", "void", "void", "void", "void", "a", "b", "c"}},
		"torn, and lost":    {[]fault{killed, lostWritten}, []string{"void", "void", "void", "a", "b", "c"}},
		"torn, and killed":  {[]fault{killed, fine, killed}, []string{"void", "void", "void", "void", "void", "void", "a", "b", "c"}},
		"killed and killed": {[]fault{killed, killedEarly, killed}, []string{"void", "void", "void", "a", "b", "c"}},
	} {
		for _, sole := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", sole), func(t *testing.T) {
				t.Parallel()
				f := newWriterFakes(t, 1, func(f *fakes) { f.cfg.SoleWriter = sole })
				f.writes.fails(c.faults...)
				at := int64(len(c.want) - 3)
				require.Equal(t, stored(at), f.append(0, by(1, 0, "a", "b", "c")))
				require.Equal(t, c.want, f.values(0))
				for range 2 {
					require.Equal(t, readable(c.want), f.consumed(0))
					require.Equal(t, twice(at), f.append(0, by(1, 0, "a", "b", "c")))
					f.again()
				}
				require.Equal(t, stored(at+3), f.append(0, by(1, 3, "d")))
				require.Zero(t, f.skipped.Load())
				f.freed(0)
			})
		}
	}
}

// Of a request of several batches the server has an index of the first messages.
func TestRequestIsThereInPart(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	b := f.begin(0, by(1, 1, "b1", "b2"))
	c := f.begin(0, by(2, 0, "c1", "c2"))
	again := f.begin(0, by(1, 1, "b1", "b2"))
	f.writes.fails(fine, killedLate)
	let(100)
	require.Equal(t, stored(1), first.wait(t))
	got := b.wait(t)
	require.NoError(t, got.Err)
	require.Equal(t, stored(got.BaseOffset+2), c.wait(t))
	require.Equal(t, twice(got.BaseOffset), again.wait(t))
	log := f.values(0)
	require.Equal(t, []string{"b1", "b2", "c1", "c2"}, log[got.BaseOffset:])
	for range 2 {
		require.Equal(t, readable(log), f.consumed(0))
		require.Equal(t, twice(got.BaseOffset+2), f.append(0, by(2, 0, "c1", "c2")))
		f.again()
	}
	f.freed(0)
}

// The first batch goes alone: of what waits no more than that is sent twice.
func TestFirstGoesAlone(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	arrived, let := f.hold()
	first := f.begin(0, recordtest.Values("first"))
	<-arrived
	var all []*appending
	for i := range 5 {
		all = append(all, f.begin(0, recordtest.Values(fmt.Sprint(i), "and")))
	}
	f.writes.fails(fine, otherOne)
	let(100)
	require.Equal(t, stored(1), first.wait(t))
	for i, a := range all {
		require.Equal(t, stored(int64(2+2*i)), a.wait(t))
	}
	require.Equal(t, []int{1, 1, 2, 8}, f.writes.sent())
	f.freed(0)
}

// Native clients write before and after, and are torn, too.
func TestNativesBesideTornMessages(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	f.writes.before, f.writes.after = []string{"n1"}, []string{"n2"}
	f.writes.torn = natives("killed", "killed too")
	require.Equal(t, stored(1), f.append(0, by(1, 0, "a", "b")))
	want := []string{"n1", "a", "b", "n2"}
	require.Equal(t, want, f.values(0))
	require.Equal(t, readable(want), f.consumed(0), "the first is salvaged")
	f.writes.before = nil
	f.writes.fails(killed)
	require.Equal(t, stored(7), f.append(0, by(1, 2, "c", "d")))
	want = append(want, "void", "void", "n2", "c", "d", "n2")
	require.Equal(t, want, f.values(0))
	require.Equal(t, readable(want), f.consumed(0))
	require.Equal(t, twice(7), f.append(0, by(1, 2, "c", "d")))
}

// The server cannot be asked whether the first message is there, or the ledger does
// not take what is void: nobody sees any of it until then.
func TestFirstCannotBeReadBack(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{fine, killed} {
		for _, ledger := range []bool{false, true} {
			f := newWriterFakes(t, 1, noCache)
			require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
			f.writes.fails(otherOne, fault)
			arrived, let := f.hold()
			a := f.begin(0, by(1, 1, "b", "c"))
			<-arrived
			let(1)
			<-arrived
			if ledger {
				f.ledger.fail(backend.ErrUnavailable)
			} else {
				f.records.fail(backend.ErrUnavailable)
			}
			let(1)
			if fault == fine && ledger {
				require.Equal(t, stored(1), a.wait(t), "nothing is void")
				continue
			}
			if fault == killed {
				let(1)
			}
			require.Eventually(t, func() bool { return f.part(0).writer.refused() != nil }, 10*time.Second, time.Millisecond)
			require.ErrorIs(t, f.append(0, by(2, 0, "c")).Err, backend.ErrUnavailable)
			f.records.fail(nil)
			if ledger {
				require.Equal(t, map[int64]string{0: "a"}, f.consumed(0))
			}
			f.ledger.fail(nil)
			let(100)
			require.NoError(t, a.wait(t).Err)
			require.Equal(t, readable(f.values(0)), f.consumed(0))
			f.freed(0)
		}
	}
}

// A server that finds no message of a segment is written to no more, once it has had
// time to show what it has taken.
func TestMisread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newWriterFakes(t, 1)
		f.records.change(0, func(l *fakeLog) { l.misread = true })
		before := time.Now()
		for range 2 {
			got := f.append(0, by(1, 0, "a", "b"))
			require.ErrorIs(t, got.Err, backend.ErrStorage)
			require.Equal(t, []int{2}, f.writes.sent())
			require.GreaterOrEqual(t, time.Since(before), misreadFor)
		}
		require.Len(t, messages(f.logs, zapcore.ErrorLevel), 1)
		f.freed(0)
	})
}

// A server that is slow to show what it has taken is waited for.
func TestSlowToShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newWriterFakes(t, 1, noCache)
		f.records.change(0, func(l *fakeLog) { l.misread = true })
		time.AfterFunc(misreadFor/2, func() { f.records.change(0, func(l *fakeLog) { l.misread = false }) })
		require.Equal(t, stored(0), f.append(0, by(1, 0, "a", "b")))
		require.Equal(t, []string{"a", "b"}, f.values(0))

		// And what was there when the gateway started, however often producers ask.
		f.records.change(0, func(l *fakeLog) { l.misread = true })
		f.again()
		began := time.Now()
		for time.Since(began) < misreadFor-100*time.Millisecond {
			require.ErrorIs(t, f.append(0, by(1, 2, "c")).Err, backend.ErrUnavailable)
		}
		require.Less(t, misreadTries, f.part(0).writer.missed.tries)
		f.records.change(0, func(l *fakeLog) { l.misread = false })
		require.Equal(t, stored(2), f.append(0, by(1, 2, "c")))

		f.records.change(0, func(l *fakeLog) { l.misread = true })
		f.again()
		began = time.Now()
		require.Eventually(t, func() bool {
			err := f.append(0, by(1, 3, "d")).Err
			if !errors.Is(err, backend.ErrStorage) {
				require.ErrorIs(t, err, backend.ErrUnavailable)
				return false
			}
			return true
		}, time.Minute, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(began), misreadFor)
		require.Equal(t, []string{"a", "b", "c"}, f.values(0))
		require.Len(t, messages(f.logs, zapcore.ErrorLevel), 1)
	})
}

// Looks that are far from one another are not in a row: a server that is slow now and
// once more in an hour is waited for both times.
func TestSlowToShowNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newWriterFakes(t, 1, noCache)
		require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
		f.records.change(0, func(l *fakeLog) { l.misread = true })
		f.again()
		for range 3 {
			for range misreadTries {
				require.ErrorIs(t, f.append(0, by(1, 1, "b")).Err, backend.ErrUnavailable)
			}
			time.Sleep(time.Hour)
		}
		f.records.change(0, func(l *fakeLog) { l.misread = false })
		require.Equal(t, stored(1), f.append(0, by(1, 1, "b")))
		require.Empty(t, messages(f.logs, zapcore.ErrorLevel))
	})
}

// Readers see nothing that is held back, and are woken when it is let go.
func TestHold(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("a")))
	p := f.part(0)
	woken, stop := f.Watch([]backend.Partition{f.id(0)})
	defer stop()
	p.hold()
	f.records.add(0, f.writes.micros(), natives("b")...)
	_, err := p.askEnd(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 1, f.bounds(0).End)
	require.Equal(t, map[int64]string{0: "a"}, f.consumed(0))
	<-woken
	p.letGo()
	<-woken
	require.Equal(t, map[int64]string{0: "a", 1: "b"}, f.consumed(0))
}

// The topic goes while its first batch is sent again and again.
func TestTopicGoesAtFirst(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	arrived, let := f.hold()
	f.writes.fails(lostUnwritten)
	a := f.begin(0, recordtest.Values("a", "b"))
	<-arrived
	f.goes()
	let(100)
	require.ErrorIs(t, a.wait(t).Err, backend.ErrUnknownTopic)
	require.Empty(t, f.values(0))
}
