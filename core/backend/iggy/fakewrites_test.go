package iggy

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// fakeWrites stores what is sent in fakeRecords, and goes wrong as it is told.
type fakeWrites struct {
	*fakeRecords
	clock func() time.Time

	writing sync.Mutex
	sends   []int   // messages of each request
	faults  []fault // of the next sends
	each    func([]iggcon.IggyMessage) error
	gate    chan struct{} // every send takes one; nil: they go through
	arrived chan int      // gets the size of each send before the gate, unless nil
	away    bool          // nothing is answered but errors
	late    func()        // what a lost request still does
	before  []string      // payloads that natives write before and after each send
	after   []string
	// connections counts them; a lost request ends one, and so does an absence.
	connections uint64
	// torn is what lies in the log without an index: the next message cannot be read.
	torn []message.Message
}

// fault is what happens to one send.
type fault int

const (
	fine fault = iota
	lostUnwritten
	lostWritten
	lostLate // written before Settle returns
	unavailable
	killed      // after the write of the messages, and before that of their index
	killedEarly // within the write of the messages
	killedLate  // within the write of the index, of all messages but the last
	otherOne    // connection, since the last send
)

func (f *fakeWrites) SendBy(ctx context.Context, connection uint64, _ client.Topic, partition uint32, messages []iggcon.IggyMessage) (uint64, error) {
	if f.arrived != nil {
		f.arrived <- len(messages)
	}
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.away {
		return 0, backend.ErrUnavailable
	}
	fault := fine
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	if fault == otherOne {
		f.connections++
	}
	if connection != 0 && connection != f.connections {
		return 0, client.ErrOtherConnection
	}
	f.sends = append(f.sends, len(messages))
	if f.each != nil {
		if err := f.each(messages); err != nil {
			return 0, err
		}
	}
	return f.connections, f.take(fault, partition, messages)
}

// take does what a server does with a request; writing is held.
func (f *fakeWrites) take(fault fault, partition uint32, messages []message.Message) error {
	store := func(messages []message.Message) {
		f.write(partition, natives(f.before...))
		f.write(partition, slices.Clone(messages))
		f.write(partition, natives(f.after...))
	}
	switch fault {
	case fine, otherOne:
		store(messages)
		return nil
	case unavailable:
		return backend.ErrUnavailable
	case lostWritten:
		store(messages)
	case lostLate:
		f.late = func() { store(messages) }
	case killed:
		f.torn = slices.Clone(messages)
	case killedEarly:
		f.torn = []message.Message{}
	case killedLate:
		last := len(messages) - 1
		f.write(partition, slices.Clone(messages[:last]))
		f.torn = slices.Clone(messages[last:])
	}
	f.connections++
	return &client.Lost{}
}

// write puts messages into a log, of which the first may be torn.
func (f *fakeWrites) write(partition uint32, messages []message.Message) {
	if len(messages) == 0 {
		return
	}
	first := f.add(partition, f.micros(), messages...)
	if f.torn == nil {
		return
	}
	f.change(partition, func(l *fakeLog) {
		l.torn[first] = true
		if l.before == nil {
			l.before = map[int64][]message.Message{}
		}
		for i := range f.torn {
			f.torn[i].Header.Offset = uint64(first + int64(i))
		}
		l.before[first] = f.torn
	})
	f.torn = nil
}

func (f *fakeWrites) micros() uint64 { return uint64(f.clock().UnixMicro()) }

func (f *fakeWrites) Settle(ctx context.Context, _ *client.Lost) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.away {
		return backend.ErrUnavailable
	}
	if f.late != nil {
		f.late()
		f.late = nil
	}
	return ctx.Err()
}

// setAway takes the server away and brings it back.
func (f *fakeWrites) setAway(away bool) {
	f.writing.Lock()
	f.away = away
	f.connections++
	f.writing.Unlock()
	if away {
		f.fail(backend.ErrUnavailable)
	} else {
		f.fail(nil)
	}
}

// fails has the next sends go wrong.
func (f *fakeWrites) fails(faults ...fault) {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.faults = append(f.faults, faults...)
}

func (f *fakeWrites) sent() []int {
	f.writing.Lock()
	defer f.writing.Unlock()
	return slices.Clone(f.sends)
}

// writerFakes is a store over fakes that take sends.
type writerFakes struct {
	*readerFakes
	writes *fakeWrites
}

func newWriterFakes(t testing.TB, partitions int32, prepare ...func(*fakes)) *writerFakes {
	t.Helper()
	f := &writerFakes{readerFakes: newReaderFakes(t, partitions, prepare...)}
	f.writes = &fakeWrites{fakeRecords: f.records, clock: f.Store.now, connections: 1}
	f.Store.data = f.writes
	return f
}

// again is a gateway that is started anew over the same server, which has finished
// with the requests of the last one: the lease is not taken over before.
func (f *writerFakes) again() {
	f.Helper()
	require.NoError(f, f.Store.Close())
	_ = f.writes.Settle(context.Background(), nil)
	f.restart()
	f.Store.data = f.writes
	f.writes.writing.Lock()
	defer f.writes.writing.Unlock()
	f.writes.connections++
}

// hold has sends wait for let. It returns a channel that gets the number of
// messages of each send that has arrived.
func (f *writerFakes) hold() (arrived <-chan int, let func(n int)) {
	ch, gate := make(chan int, 1000), make(chan struct{}, 1000)
	f.writes.arrived, f.writes.gate = ch, gate
	return ch, func(n int) {
		for range n {
			gate <- struct{}{}
		}
	}
}

// append appends one batch and waits.
func (f *writerFakes) append(index int32, b recordtest.Batch) backend.Appended {
	f.Helper()
	return f.appendBy(context.Background(), index, b)
}

func (f *writerFakes) appendBy(ctx context.Context, index int32, b recordtest.Batch) backend.Appended {
	f.Helper()
	out := f.Append(ctx, []backend.Append{{Partition: f.id(index), Batch: b.Batch(f)}})
	require.Len(f, out, 1)
	return out[0]
}

// appending is an Append that goes on.
type appending struct {
	cancel context.CancelFunc
	done   chan backend.Appended
}

func (a *appending) wait(t testing.TB) backend.Appended {
	t.Helper()
	select {
	case got := <-a.done:
		return got
	case <-time.After(10 * time.Second):
		require.Fail(t, "no answer")
		return backend.Appended{}
	}
}

func (a *appending) waits() bool { return len(a.done) == 0 }

// start begins to append a batch and returns when it is in the queue, or on its
// way, or answered.
func (f *writerFakes) begin(index int32, b recordtest.Batch) *appending {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f.Cleanup(cancel)
	a := &appending{cancel: cancel, done: make(chan backend.Appended, 1)}
	w := &f.part(index).writer
	before := w.came()
	go func() { a.done <- f.appendBy(ctx, index, b) }()
	require.Eventually(f, func() bool { return !a.waits() || w.came() > before }, 10*time.Second, 100*time.Microsecond)
	return a
}

// came counts the batches that were ever taken into the queue.
func (w *writer) came() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken + int64(len(w.queue))
}

// idle waits until the writer of a partition has nothing to do.
func (f *writerFakes) idle(index int32) {
	f.Helper()
	w := &f.part(index).writer
	require.Eventually(f, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.running
	}, 10*time.Second, 100*time.Microsecond)
}

// values returns what the log of a partition holds; "torn" stands for what cannot be
// read, and "void" for what the ledger says that is, or lies there once more behind it.
func (f *writerFakes) values(index int32) (all []string) {
	f.records.mu.Lock()
	defer f.records.mu.Unlock()
	l := f.records.log(uint32(index))
	kept, _ := f.ledger.Get(partitionKey(keyVoid, f.id(index)))
	voids, err := parseVoids(kept)
	require.NoError(f, err)
	last := map[message.ID]int64{}
	for at, m := range l.messages {
		last[m.Header.Id] = max(last[m.Header.Id], at)
	}
	for at := l.first; at <= l.last; at++ {
		m := l.messages[at]
		value := string(m.Payload)
		switch {
		case last[m.Header.Id] > at, slices.ContainsFunc(voids, func(v span) bool { return v.first <= at && at < v.next }):
			value = "void"
		case l.torn[at] && len(l.before[at]) == 0:
			value = "torn"
		}
		all = append(all, value)
	}
	return all
}

// goes has a native client delete the topic, and the store see that.
func (f *writerFakes) goes() {
	f.Helper()
	require.NoError(f, f.server.DeleteTopic(context.Background(), client.Topic{Stream: "kafka", Name: f.topic.Name}))
	require.NoError(f, f.look(context.Background(), time.Now()))
}

// stored is the answer to a batch that was stored at an offset.
func stored(offset int64) backend.Appended {
	return backend.Appended{BaseOffset: offset, AppendTime: -1}
}

// twice is the answer to one that had been.
func twice(offset int64) backend.Appended {
	return backend.Appended{BaseOffset: offset, AppendTime: -1, Duplicate: true}
}

// by is a batch of an idempotent producer.
func by(id int64, sequence int32, values ...string) recordtest.Batch {
	return recordtest.Values(values...).From(id, 0, sequence)
}

// freed checks that no memory is charged any more.
func (f *writerFakes) freed(index int32) {
	f.Helper()
	f.idle(index)
	require.True(f, f.queues.room.TryAcquire(maxQueuedBytes), "all is given back")
	f.queues.room.Release(maxQueuedBytes)
	if room, size := f.part(index).space(); true {
		require.True(f, room.TryAcquire(size))
		room.Release(size)
	}
}
