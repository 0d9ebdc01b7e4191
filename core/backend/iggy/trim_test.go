package iggy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// trim deletes the records before an offset, which must succeed.
func (f *readerFakes) trim(index int32, before int64) {
	f.Helper()
	start, err := f.DeleteRecords(f.Context(), f.id(index), before)
	require.NoError(f, err)
	require.Equal(f, before, start)
}

// What cannot be written changes nothing, and is told at once.
func TestDeleteRecordsWithoutLedger(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives(numbers(10)...)...)
	f.trim(0, 2)
	f.ledger.fail(backend.ErrUnavailable)
	_, err := f.DeleteRecords(t.Context(), f.id(0), 5)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Equal(t, backend.Bounds{Start: 2, End: 10}, f.bounds(0))
	start, err := f.DeleteRecords(t.Context(), f.id(0), 1)
	require.NoError(t, err, "it changes nothing")
	require.EqualValues(t, 2, start)
	f.ledger.fail(nil)
	f.trim(0, 5)
	f.records.fail(backend.ErrUnavailable)
	f.part(0).expire()
	_, err = f.DeleteRecords(t.Context(), f.id(0), 6)
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

// A caller that can wait no longer does not know; the start moves when the ledger
// has it, and not before. Others wait for their turn, with their context.
func TestDeleteRecordsGoesOn(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives(numbers(10)...)...)
	f.bounds(0)
	arrived, gate := make(chan struct{}, 1), make(chan struct{})
	f.ledger.before = func([]journal.Change) {
		arrived <- struct{}{}
		<-gate
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.DeleteRecords(ctx, f.id(0), 5)
		done <- err
	}()
	<-arrived
	cancel()
	require.ErrorIs(t, <-done, backend.ErrOutcomeUnknown)
	require.Zero(t, f.bounds(0).Start)
	_, err := f.DeleteRecords(ctx, f.id(0), 7)
	require.ErrorIs(t, err, context.Canceled)
	close(gate)
	require.Eventually(t, func() bool { return f.bounds(0).Start == 5 }, time.Minute, time.Millisecond)
	f.trim(0, 6)
	f.ledger.before = nil
}

// The server's own start may pass it, and what was deleted stays so when the server
// has it still; all methods say the same, after a kill of the gateway too.
func TestDeletedRecordsAndRetention(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, soleReader)
	for range 5 {
		require.NoError(t, f.append(0, recordtest.Values("a", "b")).Err)
	}
	require.Len(t, f.part(0).tail.batches, 5)
	f.trim(0, 5)
	require.Len(t, f.part(0).tail.batches, 3, "batches that nobody may read leave the cache")
	require.EqualValues(t, 5, f.append(0, recordtest.Values("c")).LogStart)
	f.again()
	require.Equal(t, backend.Bounds{Start: 5, End: 11}, f.bounds(0))
	require.EqualValues(t, 5, f.append(0, recordtest.Values("d")).LogStart)
	_, _, err := f.Available(t.Context(), f.id(0), 4, 100)
	require.ErrorIs(t, err, backend.ErrOffsetOutOfRange)
	found, err := f.FindTime(t.Context(), f.id(0), 0)
	require.NoError(t, err)
	require.EqualValues(t, 5, found.Offset)
	f.records.change(0, func(l *fakeLog) { l.first = 7 })
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 7, End: 12}, f.bounds(0))
	start, err := f.DeleteRecords(t.Context(), f.id(0), 6)
	require.NoError(t, err)
	require.EqualValues(t, 7, start)
	require.Equal(t, 1, f.ledger.keys(keyStart))
}

// Producers are known again from records that were deleted for clients.
func TestDeletedRecordsAndProducers(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1)
	require.NoError(t, f.append(0, by(1, 0, "a", "b")).Err)
	f.trim(0, 2)
	f.again()
	got := f.append(0, by(1, 0, "a", "b"))
	require.Equal(t, backend.Appended{LogStart: 2, AppendTime: -1, Duplicate: true}, got)
	require.Equal(t, backend.Appended{BaseOffset: 2, LogStart: 2, AppendTime: -1}, f.append(0, by(1, 2, "c")))
}

// That records were deleted says that they were there: a log that ends before has
// lost some, even if its end was never noted. Whoever accepts that sees what is
// written from there on.
func TestDeletedRecordsAndTruncation(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives(numbers(10)...)...)
	f.trim(0, 8)
	f.ledger.mu.Lock()
	delete(f.ledger.pairs, partitionKey(keyEnd, f.id(0)))
	f.ledger.mu.Unlock()
	f.part(0).noted.kept.Store(1 << 40) // so that the end of the store does not note it
	f.records.change(0, func(l *fakeLog) { l.last = 4 })
	f.fakes.restart()
	f.Store.data = f.records
	_, err := f.Bounds(t.Context(), f.id(0))
	require.ErrorIs(t, err, backend.ErrStorage)
	require.Equal(t, 1, f.faulty.count())
	_, err = f.DeleteRecords(t.Context(), f.id(0), 4)
	require.ErrorIs(t, err, backend.ErrStorage)

	f.cfg.AcceptTruncation = true
	f.fakes.restart()
	f.Store.data = f.records
	require.Equal(t, backend.Bounds{Start: 5, End: 5}, f.bounds(0))
	require.Zero(t, f.faulty.count())
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
	f.records.add(0, 1, natives("new")...)
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 5, End: 6}, f.bounds(0))
	f.fakes.restart()
	f.Store.data = f.records
	require.Equal(t, backend.Bounds{Start: 5, End: 6}, f.bounds(0))
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
}

// The start goes with its topic, also when that goes while the start is stored.
func TestStartsGoWithTheirTopic(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 2)
	f.records.add(0, 1, natives(numbers(10)...)...)
	f.records.add(1, 1, natives(numbers(10)...)...)
	f.trim(0, 3)
	f.trim(1, 4)
	require.Equal(t, 2, f.ledger.keys(keyStart))
	p := f.part(1)
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
	require.Zero(t, f.ledger.keys(keyStart))
	p.trim.turn <- struct{}{}
	_, err := p.trimInTime(t.Context(), 5)
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
	require.Zero(t, f.ledger.keys(keyStart))

	f.topic = f.create("t", 2)
	require.Equal(t, backend.Bounds{End: 10}, f.bounds(0), "of another topic")
	f.trim(0, 3)
	// A topic that goes while no gateway runs.
	f.server.set(func() { delete(f.server.streams["kafka"], "t") })
	f.fakes.restart()
	require.Zero(t, f.ledger.keys(keyStart))
}

// A log that was truncated while its start was stored does not hide what comes.
func TestTruncatedWhileTrimming(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives(numbers(10)...)...)
	f.bounds(0)
	p := f.part(0)
	p.mu.Lock()
	p.end, p.floor = 4, 4
	p.mu.Unlock()
	p.trim.turn <- struct{}{}
	_, err := p.trimInTime(t.Context(), 8)
	require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
	require.Zero(t, p.trim.before.Load())
	require.Zero(t, f.ledger.keys(keyStart))
}

// After the end of the store nothing moves.
func TestDeleteRecordsAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives("a")...)
	p := f.part(0)
	require.NoError(t, f.Store.Close())
	_, err := f.DeleteRecords(context.Background(), f.id(0), 1)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	p.trim.turn <- struct{}{}
	_, err = p.trimInTime(context.Background(), 1)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Empty(t, p.trim.turn, "given back")
	for _, call := range []func() error{
		func() error { _, err := f.DescribeProducers(context.Background(), f.id(0)); return err },
		func() error { _, err := f.LogDir(context.Background()); return err },
		func() error { _, err := f.Sizes(context.Background(), f.topic.ID); return err },
		func() error {
			return f.EachGroup(context.Background(), func(string, []byte) error { return errors.New("called") })
		},
		func() error { return f.SaveGroup(context.Background(), "g", nil) },
		func() error { _, err := f.ExpireOffsets(context.Background(), "g", time.Now(), nil); return err },
	} {
		require.ErrorIs(t, call(), backend.ErrUnavailable)
	}
}

// A start that cannot be read hides nothing, and is told.
func TestStartThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1)
	f.records.add(0, 1, natives("a")...)
	f.ledger.mu.Lock()
	f.ledger.pairs[partitionKey(keyStart, f.id(0))] = []byte("?")
	f.ledger.mu.Unlock()
	f.fakes.restart()
	f.Store.data = f.records
	require.Equal(t, backend.Bounds{End: 1}, f.bounds(0))
	require.Len(t, messages(f.logs, zapcore.ErrorLevel), 1)
}
