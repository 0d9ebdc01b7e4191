package iggy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
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

// A topic is not deleted while the server may yet store in another one of its name what
// was on its way to it.
func TestNoEndWhileSomethingIsOnItsWay(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, soleReader, func(f *fakes) { f.cfg.RequestTimeout = time.Millisecond })
	require.Equal(t, stored(0), f.append(0, recordtest.Values("first")))
	arrived, let := f.hold()
	old := f.begin(0, recordtest.Values("old"))
	<-arrived
	require.ErrorIs(t, f.DeleteTopic(t.Context(), f.topic.ID), backend.ErrUnavailable)
	let(10)
	require.Equal(t, stored(1), old.wait(t))
	require.Equal(t, stored(2), f.append(0, recordtest.Values("more")))
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
}

// Who makes another topic meanwhile does not wait for that.
func TestEndOfTopicHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, soleReader)
	require.Equal(t, stored(0), f.append(0, recordtest.Values("first")))
	arrived, let := f.hold()
	f.begin(0, recordtest.Values("old"))
	<-arrived
	var deleted sync.WaitGroup
	deleted.Go(func() { _ = f.DeleteTopic(t.Context(), f.topic.ID) })
	time.Sleep(100 * time.Millisecond) // it waits by now
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := f.CreateTopic(ctx, backend.NewTopic{Name: "other", Partitions: 1})
	let(10)
	deleted.Wait()
	require.NoError(t, err)
}

// deleteHook is a server that tells of deletions before it does them.
type deleteHook struct {
	*fakeServer
	before func()
}

func (d *deleteHook) DeleteTopic(ctx context.Context, at client.Topic) error {
	d.before()
	return d.fakeServer.DeleteTopic(ctx, at)
}

// One partition of which it is not known what became of a request does not let sends to
// the others through while their topic is deleted.
func TestEndOfTopicIsForAllPartitions(t *testing.T) {
	t.Parallel()
	const n = 64
	f := newWriterFakes(t, n, soleReader, func(f *fakes) { f.cfg.RequestTimeout = time.Millisecond })
	require.Equal(t, stored(0), f.append(0, recordtest.Values("first")))
	f.records.fail(backend.ErrUnavailable)
	f.writes.fails(lostUnwritten)
	old := f.begin(0, recordtest.Values("old"))
	all := slices.Clone(f.topicOf(f.part(0)).partitions)
	require.Eventually(t, func() bool { return all[0].writer.refused() != nil }, 10*time.Second, time.Millisecond)
	held := 0
	f.Store.server = &deleteHook{f.server, func() {
		for _, p := range all {
			held += len(p.writer.turn)
		}
	}}
	require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
	require.Equal(t, n, held)
	f.records.fail(nil)
	require.ErrorIs(t, old.wait(t).Err, backend.ErrUnknownTopic)
	require.Equal(t, []int{1, 1}, f.writes.sent())
}

// An answer of after the log was cut off does not undo what came after that was accepted.
func TestAnswerOfAfterTheTruncation(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, func(f *fakes) { f.cfg.AcceptTruncation = true })
	f.records.add(0, 1, natives("a", "b", "c", "d")...)
	f.bounds(0)
	p := f.part(0)
	f.records.change(0, func(l *fakeLog) { l.last = 1 })
	f.records.next(func() {
		_, err := p.askEnd(t.Context())
		require.NoError(t, err)
		f.produce(0, recordtest.Values("C", "D"), 1)
		start, err := f.DeleteRecords(t.Context(), f.id(0), 3)
		require.NoError(t, err)
		require.EqualValues(t, 3, start)
	})
	_, err := p.askEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{Start: 3, End: 4}, f.bounds(0))
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
}

// Nor does one of before that, when the log is by now as long as it was.
func TestAnswerOfBeforeTheTruncationOfLongLog(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, func(f *fakes) { f.cfg.AcceptTruncation = true })
	f.records.add(0, 1, natives("a", "b", "c", "d")...)
	f.bounds(0)
	p := f.part(0)
	f.records.add(0, 1, natives("e", "f", "g")...)
	f.records.next(func() {
		f.records.change(0, func(l *fakeLog) { l.last = 1 })
		_, err := p.askEnd(t.Context())
		require.NoError(t, err)
		f.produce(0, recordtest.Values("C", "D"), 1)
	})
	end, err := p.askEnd(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, end)
	require.Equal(t, backend.Bounds{End: 4}, f.bounds(0))
}

// Records of before the log was cut off are not kept for who reads it after that.
func TestRestOfBeforeTheTruncation(t *testing.T) {
	t.Parallel()
	f := newReaderFakes(t, 1, soleReader, func(f *fakes) { f.cfg.AcceptTruncation = true })
	long := strings.Repeat("x", 1000)
	f.records.add(0, 1, natives(long+"a", long+"b", long+"c", long+"d")...)
	f.bounds(0)
	p := f.part(0)
	p.mu.Lock()
	p.guessed, p.mean = true, 100 // so that one poll brings more than is read
	p.mu.Unlock()
	f.records.next(func() {
		f.records.change(0, func(l *fakeLog) { l.last = 1 })
		_, err := p.askEnd(t.Context())
		require.NoError(t, err)
	})
	_, _, err := f.Read(t.Context(), backend.Read{Partition: f.id(0), MaxBytes: 1500, AtLeastOne: true})
	require.NoError(t, err)
	f.records.add(0, 1, natives("C", "D")...)
	var got []string
	for _, r := range f.consume(0, 1, manyBytes) {
		got = append(got, strings.TrimLeft(string(r.Value), "x"))
	}
	require.Equal(t, []string{"b", "C", "D"}, got)
}

// before is data of which polls wait for something first.
type before struct {
	client.Writer
	poll func()
}

func (b *before) Poll(ctx context.Context, at client.Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (client.Polled, error) {
	b.poll()
	return b.Writer.Poll(ctx, at, partition, from, count)
}

// A poll that comes to a topic that was made again does not tell that records are lost.
func TestPollOfTopicMadeAgain(t *testing.T) {
	t.Parallel()
	for _, accept := range []bool{false, true} {
		f := newWriterFakes(t, 1, func(f *fakes) { f.cfg.AcceptTruncation = accept })
		f.records.add(0, 1, natives("a", "b", "c", "d")...)
		f.bounds(0)
		old := f.id(0)
		f.part(0).expire()
		f.Store.data = &before{f.writes, sync.OnceFunc(func() {
			require.NoError(t, f.DeleteTopic(t.Context(), f.topic.ID))
			f.topic = f.create("t", 1)
			f.records.change(0, func(l *fakeLog) { clear(l.messages); l.last = -1 })
			f.records.add(0, 1, natives("A")...)
		})}
		_, err := f.Bounds(t.Context(), old)
		require.ErrorIs(t, err, backend.ErrUnknownTopic)
		require.Empty(t, messages(f.logs, zapcore.ErrorLevel))
		require.Empty(t, messages(f.logs, zapcore.WarnLevel))
		require.Zero(t, f.ledger.keys(keyEnd))
	}
}
