package iggy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// described asks for producers, without the times.
func (f *writerFakes) described(index int32) []backend.ProducerState {
	f.Helper()
	got, err := f.DescribeProducers(f.Context(), f.id(index))
	require.NoError(f, err)
	for i := range got {
		require.InDelta(f, time.Now().UnixMilli(), got[i].LastTimestamp, 60_000)
		got[i].LastTimestamp = 0
	}
	return got
}

// After a restart the end of the log is read, once, also for the first batch that
// comes then.
func TestProducersAreDescribedFromTheLog(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 2)
	require.NoError(t, f.append(0, by(7, 0, "a", "b")).Err)
	require.NoError(t, f.append(0, recordtest.Values("nobody's")).Err)
	want := []backend.ProducerState{{ID: 7, LastSequence: 1}}
	require.Equal(t, want, f.described(0))
	f.again()
	require.Equal(t, want, f.described(0))
	require.Empty(t, f.described(1))
	f.records.polls()
	require.Equal(t, want, f.described(0))
	require.LessOrEqual(t, len(f.records.polls()), 1, "at most for the end of the log")
	require.Equal(t, stored(3), f.append(0, by(7, 2, "c")))
	require.True(t, f.append(0, by(7, 2, "c")).Duplicate)
	want[0].LastSequence = 2
	require.Equal(t, want, f.described(0))
	f.freed(0)
	f.freed(1)
}

// Those that were idle too long are not there.
func TestExpiredProducersAreNotDescribed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newWriterFakes(t, 1, func(f *fakes) { f.opts.Now = func() time.Time { return now } })
	require.NoError(t, f.append(0, by(7, 0, "a")).Err)
	f.idle(0)
	now = now.Add(25 * time.Hour)
	require.Empty(t, f.described(0))
	f.idle(0)
	f.again()
	require.Empty(t, f.described(0))
}

// A question waits for the request on its way, and not longer than who asks.
func TestDescribeWaitsForASend(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.NoError(t, f.append(0, by(7, 0, "a")).Err)
	arrived, let := f.hold()
	sending := f.begin(0, by(7, 1, "b"))
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	w := &f.part(0).writer
	waiting := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.questions)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := f.DescribeProducers(ctx, f.id(0))
		gone <- err
	}()
	require.Eventually(t, func() bool { return waiting() == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Zero(t, waiting(), "it is taken back")
	got := make(chan []backend.ProducerState, 1)
	go func() { got <- f.described(0) }()
	require.Eventually(t, func() bool { return waiting() == 1 }, 10*time.Second, time.Millisecond)
	let(1)
	require.NoError(t, sending.wait(t).Err)
	require.Equal(t, []backend.ProducerState{{ID: 7, LastSequence: 1}}, <-got)
	f.freed(0)
}

// While it is not known what became of a request, nobody waits.
func TestDescribeWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.NoError(t, f.append(0, by(7, 0, "a")).Err)
	arrived, let := f.hold()
	f.writes.fails(lostUnwritten)
	sending := f.begin(0, by(7, 1, "b"))
	<-arrived
	answer := make(chan error, 1)
	go func() {
		_, err := f.DescribeProducers(t.Context(), f.id(0))
		answer <- err
	}()
	w := &f.part(0).writer
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.questions) == 1
	}, 10*time.Second, time.Millisecond)
	f.records.fail(backend.ErrUnavailable)
	let(1)
	require.ErrorIs(t, <-answer, backend.ErrUnavailable, "those that waited")
	_, err := f.DescribeProducers(t.Context(), f.id(0))
	require.ErrorIs(t, err, backend.ErrUnavailable, "and those that come")
	f.records.fail(nil)
	let(1)
	require.NoError(t, sending.wait(t).Err)
	require.Equal(t, []backend.ProducerState{{ID: 7, LastSequence: 1}}, f.described(0))

	f.records.fail(backend.ErrUnavailable)
	f.again()
	_, err = f.DescribeProducers(t.Context(), f.id(0))
	require.ErrorIs(t, err, backend.ErrUnavailable, "the log cannot be read")
	f.records.fail(nil)
	require.Len(t, f.described(0), 1)
}
