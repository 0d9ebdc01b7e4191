package iggy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// What is appended during a read is not in its answer, whose end is older.
func TestReadEndsAtItsEnd(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("a", "b")...)
	f.bounds(0)
	f.produce(0, recordtest.Values("c"), 1)
	f.records.next(func() { f.produce(0, recordtest.Values("d"), 1) })
	got, b, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), MaxBytes: manyBytes, AtLeastOne: true})
	require.NoError(t, err)
	rs := backendtest.Records(t, got)
	require.Equal(t, b.End, rs[len(rs)-1].Offset+1)
}

// A batch that is in the cache and not before the end yet is given to nobody: whoever
// asked for what follows it would be told OFFSET_OUT_OF_RANGE.
func TestCacheIsAheadOfTheEnd(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.bounds(0)
	f.produce(0, recordtest.Values("a"), 1)
	p := f.part(0)
	batch := recordtest.Values("b").Batch(f)
	ms := toMessages(f, batch)
	batch.SetBaseOffset(f.records.add(0, 1, ms...))
	p.store.cache.addBatches(&p.tail, []record.Batch{batch}, nil, p.store.cfg.CacheBytes)
	require.Len(t, f.consume(0, 0, manyBytes), 1)
	p.appended(nil, 2)
	require.Len(t, f.consume(0, 0, manyBytes), 2)
}

// While readers are held at an end, the start is not shown behind it.
func TestStartIsNotBehindTheEnd(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader)
	f.records.add(0, 1, natives("a", "b")...)
	f.bounds(0)
	f.part(0).hold()
	f.records.add(0, 1, natives("c", "d")...)
	f.records.change(0, func(l *fakeLog) { l.first = 4 })
	f.part(0).expire()
	require.Equal(t, backend.Bounds{Start: 2, End: 2}, f.bounds(0))
	f.part(0).letGo()
	require.Equal(t, backend.Bounds{Start: 4, End: 4}, f.bounds(0))
}

// What is on its way to a topic that is deleted does not come to one that is made
// again under its name.
func TestSendsEndBeforeTheirTopic(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, soleReader)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("first")))
	arrived, let := f.hold()
	old := f.begin(0, recordtest.Values("old"))
	<-arrived
	time.AfterFunc(100*time.Millisecond, func() { let(10) }) // the others go through
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
	f.records.change(0, func(l *fakeLog) {
		*l = fakeLog{last: -1, messages: map[int64]message.Message{}, torn: map[int64]bool{}}
	})
	f.topic = f.create("t", 1)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("n0")))
	old.wait(t)
	require.Equal(t, stored(1), f.append(0, recordtest.Values("n1")))
	require.Equal(t, []string{"n0", "n1"}, f.values(0))
}

// An answer of before the log was cut off, which was accepted, is not taken in after it.
func TestAnswerOfBeforeTheTruncation(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, func(f *fakes) { f.cfg.AcceptTruncation = true })
	f.records.add(0, 1, natives("a", "b", "c", "d")...)
	f.bounds(0)
	p := f.part(0)
	f.records.next(func() {
		f.records.change(0, func(l *fakeLog) { l.last = 1 })
		_, err := p.askEnd(t.Context())
		require.NoError(t, err)
	})
	p.expire()
	f.bounds(0)
	require.Equal(t, backend.Bounds{End: 2}, f.bounds(0))
}

// A read during which its topic is deleted, and made again, has no records of the other one.
func TestReadOfTopicMadeAgain(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, noCache)
	f.records.add(0, 1, natives("a", "b", "c", "d")...)
	f.bounds(0)
	old, p := f.id(0), f.part(0)
	p.mu.Lock()
	p.guessed, p.mean = true, 1<<20 // so that it takes two polls
	p.mu.Unlock()
	f.records.next(func() {
		require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
		f.topic = f.create("t", 1)
		f.records.change(0, func(l *fakeLog) { clear(l.messages); l.last = -1 })
		f.records.add(0, 1, natives("A", "B", "C", "D")...)
	})
	_, _, err := f.Read(t.Context(), backend.Read{Partition: old, MaxBytes: 2 << 20, AtLeastOne: true})
	require.ErrorIs(t, err, backend.ErrUnknownTopic)
}
