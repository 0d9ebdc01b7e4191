package iggy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/backend/producerstate"
)

const (
	// maxSendMessages bounds the messages of one request, and maxSendBatches the
	// batches, whatever their size.
	maxSendMessages = 20_000
	maxSendBatches  = 1_000
	// recent is how old a known end may be before a send looks at it again: it is
	// where a batch is looked for when others write to the partition too.
	recent = time.Second
	// quietPatience is how long the end of a topic waits for what is on its way to it,
	// beside the time that the server has for a request.
	quietPatience = 2 * time.Second
	// expireEvery is the time between two looks for producers to forget.
	expireEvery = 10 * time.Minute
)

// writer sends what waits for a partition, one request at a time. Its goroutine
// runs while there is work.
type writer struct {
	mu    sync.Mutex
	queue []*waiting
	// questions are answered between two requests (describe.go).
	questions []*question
	taken     int64 // batches that have ever left the queue for a request
	running   bool
	// refuse is why nothing is taken in: while it is not known what became of a
	// request, nothing can be decided about those behind it.
	refuse error
	room   *semaphore.Weighted // bytes; made for the first batch
	// turn, of one, is held while something is tried, and by who deletes the topic.
	turn chan struct{}
	// onWay says that the server may yet execute a request, or be given it; ending by how
	// many who delete the topic it is kept from being given one.
	onWay  bool
	ending int

	// The rest belongs to the goroutine.

	// sure says that the server has answered everything since next was looked up.
	sure bool
	next int64 // where the log is thought to end
	// producers knows of every batch before the offset learnt; −1: of none.
	producers producerstate.Table
	learnt    int64
	started   bool // learnt and producers are set
	expired   time.Time
	denied    bool // it has been logged that the server does not let us write
	// proven is the connection by which a message went that was read back; 0: none.
	proven  uint64
	misread bool   // nothing that is written would be found (first.go)
	missed  misses // looks that have not found the last message
}

// refused returns why no batch is taken in, or nil.
func (w *writer) refused() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refuse
}

// space returns the room of the partition's queue.
func (p *partition) space() (room *semaphore.Weighted, size int64) {
	w := &p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	size = max(queueSends*p.store.cfg.SendBytes, 1)
	if w.room == nil {
		w.room = semaphore.NewWeighted(size)
	}
	return w.room, size
}

// tryReserve charges a batch to the queue when there is room right now. A batch
// above all room takes all of it.
func (p *partition) tryReserve(b *waiting) bool {
	room, size := p.space()
	n := b.size()
	if !room.TryAcquire(min(n, size)) {
		b.charged = -n // what to reserve
		return false
	}
	if !p.store.queues.room.TryAcquire(min(n, maxQueuedBytes)) {
		room.Release(min(n, size))
		b.charged = -n
		return false
	}
	b.charged = n
	return true
}

// reserve waits for room.
func (p *partition) reserve(ctx context.Context, b *waiting) error {
	room, size := p.space()
	n := -b.charged
	b.charged = 0
	if err := room.Acquire(ctx, min(n, size)); err != nil {
		return err
	}
	if err := p.store.queues.room.Acquire(ctx, min(n, maxQueuedBytes)); err != nil {
		room.Release(min(n, size))
		return err
	}
	b.charged = n
	return nil
}

// release gives the room of a batch back. It is done with; its bytes may have
// gone to the readers.
func (p *partition) release(b *waiting) {
	if b.charged > 0 {
		room, size := p.space()
		room.Release(min(b.charged, size))
		p.store.queues.room.Release(min(b.charged, maxQueuedBytes))
	}
	b.charged, b.messages, b.batch.Bytes = 0, nil, nil
}

// push puts a batch at the end of the queue, and begins the work when nobody is
// at it: backend.ErrUnavailable.
func (p *partition) push(b *waiting) error {
	w := &p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := p.begin(); err != nil {
		return err
	}
	w.queue = append(w.queue, b)
	return nil
}

// begin has somebody work off what is about to be added; mu is held.
func (p *partition) begin() error {
	w := &p.writer
	if w.refuse != nil {
		return w.refuse
	}
	if !w.running {
		if !p.store.run(p.write) {
			return backend.ErrUnavailable
		}
		w.running = true
	}
	return nil
}

// withdraw takes a batch out of the queue. It reports false when it is no longer
// there.
func (p *partition) withdraw(b *waiting) bool {
	w := &p.writer
	w.mu.Lock()
	i := slices.Index(w.queue, b)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.mu.Unlock()
	if i >= 0 {
		p.release(b)
	}
	return i >= 0
}

// take removes what goes in the next request, and the questions before it; none of
// both ends the work.
func (w *writer) take(maxBytes int64) (group []*waiting, asked []*question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked, w.questions = w.questions, nil
	n, size, messages := 0, int64(0), 0
	for _, b := range w.queue {
		size += b.charged
		messages += len(b.messages)
		if n > 0 && (size > maxBytes || messages > maxSendMessages || n == maxSendBatches) {
			break
		}
		n++
	}
	if n == 0 {
		w.running, w.queue = len(asked) > 0, nil
		return nil, asked
	}
	taken := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	w.taken += int64(n)
	return taken, asked
}

// write works the queue off.
func (p *partition) write(ctx context.Context) {
	for {
		group, asked := p.writer.take(p.store.cfg.SendBytes)
		if group == nil && asked == nil {
			return
		}
		p.answer(ctx, asked)
		// Each element is tried as one request.
		for todo := [][]*waiting{group}; len(todo) > 0; {
			again := p.inTurn(ctx, todo[0])
			todo = append(again, todo[1:]...)
		}
		for _, b := range group {
			p.release(b)
		}
	}
}

// inTurn is attempt, apart from the end of the topic: Iggy takes names, so what is
// still on its way then would go to a topic that is made anew under the same one.
func (p *partition) inTurn(ctx context.Context, group []*waiting) (again [][]*waiting) {
	select {
	case p.writer.turn <- struct{}{}:
		defer func() { <-p.writer.turn }()
	case <-ctx.Done():
	}
	return p.attempt(ctx, group)
}

// quiet returns when nothing is on its way to a topic that is to be deleted, and keeps
// what comes later waiting until release. What takes longer than it should is not waited
// for, and gets no request through until release, unless there is one already that the
// server may yet execute: then it is backend.ErrUnavailable.
func (t *topic) quiet(ctx context.Context, patience time.Duration) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var held, ending []*partition
	release = func() {
		for _, p := range held {
			<-p.writer.turn
		}
		for _, p := range ending {
			p.writer.end(-1)
		}
	}
	for _, p := range t.partitions {
		if p.writer.takeTurn(ctx) {
			held = append(held, p)
			continue
		}
		ending = append(ending, p)
		if !p.writer.end(1) {
			release()
			return nil, fmt.Errorf("%w: topic %s is not deleted while something is on its way to partition %d", backend.ErrUnavailable, t.info.Name, p.index)
		}
	}
	return release, nil
}

// takeTurn waits for the turn; one that is free is taken also when ctx has ended.
func (w *writer) takeTurn(ctx context.Context) bool {
	select {
	case w.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// end notes one more, or less, who deletes the topic. It reports false when something is
// on its way to it.
func (w *writer) end(more int) (quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending += more
	return !w.onWay
}

// sendBy is SendBy of the client, unless the topic is being deleted. When the request is
// lost, it is on its way until arrived is called.
func (p *partition) sendBy(ctx context.Context, connection uint64, messages []message.Message) (uint64, error) {
	w := &p.writer
	w.mu.Lock()
	if w.ending > 0 {
		w.mu.Unlock()
		return 0, fmt.Errorf("%w: topic %s is being deleted", backend.ErrUnavailable, p.at.Name)
	}
	w.onWay = true
	w.mu.Unlock()
	by, err := p.store.data.SendBy(ctx, connection, p.at, p.index, messages)
	var lost *client.Lost
	if !errors.As(err, &lost) {
		w.arrived()
	}
	return by, err
}

// arrived says that the server has finished with a request.
func (w *writer) arrived() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onWay = false
}

// attempt tries to store batches with one request. What it returns is to be tried
// next; everything else has its answer.
func (p *partition) attempt(ctx context.Context, group []*waiting) (again [][]*waiting) {
	group = slices.DeleteFunc(slices.Clone(group), func(b *waiting) bool { return !b.wanted() })
	if len(group) == 0 {
		return nil
	}
	if err := p.ready(ctx, group); err != nil {
		p.fail(group, err)
		return nil
	}
	if some, err := p.discard(ctx, group); some || err != nil {
		if err != nil {
			p.fail(group, err)
			return nil
		}
		return [][]*waiting{group}
	}
	if p.writer.proven == 0 && len(group) > 1 {
		return [][]*waiting{group[:1], group[1:]}
	}
	s := p.decide(group)
	if len(s.batches) == 0 {
		return nil
	}
	if err := p.announce(ctx, s); err != nil {
		p.fail(group, err)
		return nil
	}
	// Iggy takes records from anybody: after a pause, those that waited here may
	// have been sent again to the gateway that has taken over, and are there already.
	if err := p.store.ledger.Current(ctx); err != nil {
		p.fail(group, unwritten(err))
		return nil
	}
	if p.writer.proven == 0 {
		p.first(ctx, s)
		return nil
	}
	return p.outcome(ctx, s, p.send(ctx, s))
}

func (p *partition) fail(group []*waiting, err error) {
	for _, b := range group {
		b.answer(notAppended(err))
	}
}

// ready makes sure that the partition is there and where its log ends, and that
// enough is known to decide about the batches.
//
// Iggy takes names: where a native client has deleted a topic and made another of
// the same name since the catalog was last looked up, a second ago at most while
// there is work, what is sent goes to the new one. The end of its log tells, and
// the answer is backend.ErrOutcomeUnknown or backend.ErrStorage; the records stay
// there.
func (p *partition) ready(ctx context.Context, group []*waiting) error {
	if ctx.Err() != nil {
		return backend.ErrUnavailable
	}
	if p.store.topicOf(p) == nil {
		return backend.ErrUnknownTopic
	}
	w := &p.writer
	if w.misread && len(group) > 0 {
		return errMisread
	}
	if !w.started {
		w.started, w.learnt = true, -1
	}
	end, err := p.presentEnd(ctx)
	if err != nil {
		return unwritten(err)
	}
	if end < w.learnt {
		// Records that were stored are gone: so is what they said.
		w.producers, w.learnt = producerstate.Table{}, -1
	}
	if !w.sure {
		w.sure, w.next = true, end
	}
	// Since the last request others have written, who have no producers.
	w.moved(end)
	for _, b := range group {
		if b.batch.ProducerID >= 0 {
			return p.learn(ctx)
		}
	}
	return nil
}

// moved notes a new end of the log when all batches before it are known of.
func (w *writer) moved(end int64) {
	if w.learnt == w.next {
		w.learnt = end
	}
	w.next = end
}

// presentEnd returns where the log ends, as far as it matters: our own requests
// move it, and native Iggy clients may.
func (p *partition) presentEnd(ctx context.Context) (int64, error) {
	p.mu.Lock()
	end, at, known, fault := p.end, p.endedAt, !p.startedAt.IsZero() && !p.endedAt.IsZero(), p.fault
	p.mu.Unlock()
	switch {
	case !p.writer.sure || !known || fault != nil:
		bounds, err := p.probe(ctx)
		return bounds.End, err
	case !p.store.cfg.SoleWriter && time.Since(at) > recent:
		return p.askEnd(ctx)
	}
	return end, nil
}

// announce notes how far the timestamps are ahead of their append, which readers
// who look for a time have to know.
func (p *partition) announce(ctx context.Context, s *sending) error {
	now := p.store.now().UnixMilli()
	ahead := int64(0)
	for _, b := range s.batches {
		ahead = max(ahead, b.batch.MaxTimestamp-now)
	}
	if ahead <= 0 || ahead <= p.store.lead(p) {
		return nil
	}
	return unwritten(p.store.raiseLead(ctx, p, ahead))
}

// send sends the messages of all batches in one request, by the connection that is
// proven.
func (p *partition) send(ctx context.Context, s *sending) error {
	messages := s.batches[0].messages
	if len(s.batches) > 1 {
		// Not memory that is used again: a connection that was given up may still
		// look at it.
		messages = make([]message.Message, 0, s.count)
		for _, b := range s.batches {
			messages = append(messages, b.messages...)
		}
	}
	s.messages = messages
	_, err := p.sendBy(ctx, p.writer.proven, messages)
	return err
}

// unwritten is an error of something that came before a send.
func unwritten(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backend.ErrOutcomeUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %v", backend.ErrUnavailable, err)
	case client.Code(err) != 0:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return err
}
