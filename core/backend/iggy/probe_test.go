package iggy

import (
	"errors"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// Offset 0 as the last one means an empty log, or one message.
func TestEmptyOrOneMessage(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	require.Equal(t, backend.Bounds{}, f.bounds(0))
	f.records.add(0, 1, natives("a")...)
	f.part(0).expire()
	require.Equal(t, backend.Bounds{End: 1}, f.bounds(0))
	f.records.change(0, func(l *fakeLog) { l.first = 1 })
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 1, End: 1}, f.bounds(0), "offsets go on when all records are gone")
	f.records.add(0, 1, natives("b")...)
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 1, End: 2}, f.bounds(0))
}

// What is appended while the answer about an empty log is on its way is behind its
// start, so that consumers get it.
func TestGrowsWhileItsStartIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, last int64 // in Iggy before
		start       int64
	}{
		"never any":            {0, -1, 0},
		"one, which is gone":   {1, 0, 1},
		"some, which are gone": {5, 4, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReaderFakes(t, 1, soleReader)
			if c.last == 0 { // which an empty log looks like to who has not seen it
				f.records.add(0, 1, natives("gone")...)
				f.bounds(0)
			}
			f.records.change(0, func(l *fakeLog) { l.first, l.last = c.first, c.last })
			f.part(0).expire()
			f.records.next(func() { f.produce(0, recordtest.Values("a", "b"), 1) })
			require.Equal(t, backend.Bounds{Start: c.start, End: c.start + 2}, f.bounds(0))
			require.Len(t, f.consume(0, c.start, manyBytes), 2)
		})
	}
}

// Own sends are exact, and what others write is seen soon.
func TestEndsAreFresh(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.bounds(0)
	f.produce(0, recordtest.Values("a"), 1)
	f.records.polls()
	require.EqualValues(t, 1, f.bounds(0).End)
	require.Empty(t, f.records.polls())

	g := newReaderFakes(t, 1)
	g.produce(0, recordtest.Values("a"), 1)
	g.records.add(0, 1, natives("n")...)
	require.Eventually(t, func() bool { return g.bounds(0).End == 2 }, 10e9, 1e6)
	starts := 0
	for _, a := range g.records.polls() {
		if a.from.Kind == iggcon.POLLING_FIRST {
			starts++
		}
		require.LessOrEqual(t, a.count, uint32(1))
	}
	require.LessOrEqual(t, starts, 2, "the start costs a whole message")
}

// A log that ends before what is known of it is refused, until it is whole again.
func TestTruncatedLogIsRefused(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(*readerFakes){
		"while running":   func(*readerFakes) {},
		"after a restart": func(f *readerFakes) { f.fakes.restart(); f.Store.data = f.records },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReaderFakes(t, 1)
			f.records.add(0, 1, natives(numbers(10)...)...)
			require.EqualValues(t, 10, f.bounds(0).End)
			var whole fakeLog
			f.records.change(0, func(l *fakeLog) { whole, l.last = *l, 4 })
			notice(f)
			f.part(0).expire()
			for range 2 {
				_, err := f.Bounds(t.Context(), f.id(0))
				require.ErrorIs(t, err, backend.ErrStorage)
				require.ErrorContains(t, err, "accept_truncation")
				_, _, err = f.Read(t.Context(), backend.Read{Partition: f.id(0), MaxBytes: 100})
				require.ErrorIs(t, err, backend.ErrStorage)
				_, err = f.FindTime(t.Context(), f.id(0), 0)
				require.ErrorIs(t, err, backend.ErrStorage)
				_, err = f.part(0).probe(t.Context())
				require.ErrorIs(t, err, backend.ErrStorage)
			}
			require.Len(t, messages(f.logs, zapcore.ErrorLevel), 1, strings.Join(messages(f.logs, zapcore.ErrorLevel), "\n"))
			f.records.change(0, func(l *fakeLog) { *l = whole })
			b, err := f.part(0).probe(t.Context())
			require.NoError(t, err)
			require.Equal(t, backend.Bounds{End: 10}, b)
		})
	}
}

// With the consent of the operator it goes on from where it ends.
func TestTruncationIsAccepted(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, func(f *fakes) { f.cfg.AcceptTruncation = true })
	for range 5 {
		f.produce(0, recordtest.Values("a", "b"), 1)
	}
	f.bounds(0)
	f.records.change(0, func(l *fakeLog) { l.last = 3 })
	f.part(0).expire()
	require.Equal(t, backend.Bounds{End: 4}, f.bounds(0))
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
	require.Empty(t, f.part(0).tail.batches, "nothing of the old log is served")
	f.records.add(0, 1, natives("new")...)
	f.part(0).expire()
	require.Len(t, f.consume(0, 0, manyBytes), 5)
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want error }{
		{ierror.ErrTopicIdNotFound, backend.ErrUnknownTopic},
		{ierror.ErrStreamIdNotFound, backend.ErrUnknownTopic},
		{ierror.ErrPartitionNotFound, backend.ErrUnknownPartition},
		{ierror.ErrUnauthorized, backend.ErrStorage},
		{backend.ErrUnavailable, backend.ErrUnavailable},
		{errors.New("unforeseen"), nil},
	} {
		f := newReaderFakes(t, 1)
		f.records.fail(c.given)
		_, err := f.Bounds(t.Context(), f.id(0))
		require.Error(t, err)
		if c.want != nil {
			require.ErrorIs(t, err, c.want)
		}
	}
}
