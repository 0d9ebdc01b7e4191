package iggy

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

const (
	// maxBatchBytes bounds the messages of one batch, which have to go in one
	// request: a message of the largest size that Iggy stores, and what is
	// around it. A compressed batch that grows beyond it is refused.
	maxBatchBytes = 65 << 20
	// maxQueuedBytes bounds what waits for all partitions together, and
	// queueSends by how many full requests one of them may be behind.
	maxQueuedBytes = 256 << 20
	queueSends     = 4
	// messageSize is the memory that a message takes beside its bytes.
	messageSize = 112
)

// queues is what the writers of all partitions share.
type queues struct {
	room *semaphore.Weighted // bytes
	// converting is for each batch that is turned into messages, which are not
	// charged for before it is known how large they are.
	converting *semaphore.Weighted
	rebuilding *semaphore.Weighted // producers.go
}

func newQueues() queues {
	return queues{
		room:       semaphore.NewWeighted(maxQueuedBytes),
		converting: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		rebuilding: semaphore.NewWeighted(rebuilders),
	}
}

// call is one Append that waits for its batches.
type call struct {
	mu   sync.Mutex
	out  []backend.Appended
	left int           // batches without an answer
	done chan struct{} // closed when there are none
}

// waiting is one batch on its way to the server.
type waiting struct {
	call      *call
	index     int  // in the call
	answered  bool // guarded by call.mu
	partition *partition
	// batch is a copy, as the caller may go before the server has answered, and
	// readers get it afterwards. Payloads of messages alias it.
	batch    record.Batch
	loan     *loan // of the copy
	lost     bool  // a connection that was given up may still look at the copy
	messages []message.Message
	charged  int64 // bytes, of the queue's room
	stamped  bool  // producers.go
	verdict  verdict
}

// Append implements backend.Logs. Each batch waits in the queue of its partition;
// what waits there together is sent together.
func (s *Store) Append(ctx context.Context, batches []backend.Append) []backend.Appended {
	c := &call{out: make([]backend.Appended, len(batches)), left: len(batches), done: make(chan struct{})}
	all := make([]waiting, len(batches))
	for i := range batches {
		b := &all[i]
		b.call, b.index = c, i
		if err := s.enqueue(ctx, b, &batches[i]); err != nil {
			b.answer(notAppended(err))
		}
	}
	if len(batches) == 0 {
		return nil
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		c.leave(ctx.Err(), all)
	}
	return c.out
}

func notAppended(err error) backend.Appended {
	return backend.Appended{Err: err, BaseOffset: -1, LogStart: -1, AppendTime: -1}
}

// enqueue turns a batch into messages and puts it into the queue of its
// partition, where it waits for room.
func (s *Store) enqueue(ctx context.Context, b *waiting, a *backend.Append) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := s.partition(ctx, a.Partition)
	if err != nil {
		return err
	}
	t := s.topicOf(p)
	if t == nil {
		return backend.ErrUnknownTopic
	}
	if err := p.writer.refused(); err != nil {
		return err
	}
	b.partition, b.batch = p, a.Batch
	b.batch.Bytes, b.loan = s.loans.clone(a.Batch.Bytes)
	b.batch.SetLeaderEpoch(0)
	if t.info.Config.LogAppendTime {
		b.batch.SetLogAppendTime(s.now().UnixMilli())
	}
	limit := t.info.Config.MaxDecompressedBytes
	if err := s.convert(ctx, b, limit); err != nil {
		return err
	}
	if !p.tryReserve(b) {
		// The messages would be memory that nobody counts.
		b.messages = nil
		err := p.reserve(ctx, b)
		if err == nil {
			err = s.convert(ctx, b, limit)
		}
		if err != nil {
			p.release(b)
			return err
		}
	}
	if err := p.push(b); err != nil {
		p.release(b)
		return err
	}
	return nil
}

// convert makes the messages of a batch and says in charged what they take.
func (s *Store) convert(ctx context.Context, b *waiting, maxRecord int32) (err error) {
	if err := s.queues.converting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.queues.converting.Release(1)
	b.messages, err = message.FromBatch(ctx, nil, b.batch, message.Limits{
		MaxRecordBytes: maxRecord, MaxBytes: maxBatchBytes,
	})
	if errors.Is(err, message.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", backend.ErrTooLarge, err)
	}
	return err
}

// size is what a batch takes in memory.
func (b *waiting) size() int64 {
	n := b.loan.cost(len(b.batch.Bytes))
	if b.batch.Codec() != record.None {
		for i := range b.messages {
			n += int64(len(b.messages[i].Payload))
		}
	}
	for i := range b.messages {
		n += messageSize + int64(len(b.messages[i].UserHeaders))
	}
	return n
}

// answer gives a batch its answer, unless it has one or its caller has gone.
func (b *waiting) answer(a backend.Appended) {
	c := b.call
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.answered {
		return
	}
	b.answered = true
	c.out[b.index] = a
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

// wanted reports whether somebody waits for the answer.
func (b *waiting) wanted() bool {
	b.call.mu.Lock()
	defer b.call.mu.Unlock()
	return !b.answered
}

// leave is the end of a caller whose context has ended: what is still in a queue
// is taken back, and what is on its way may or may not be stored.
func (c *call) leave(cause error, all []waiting) {
	for i := range all {
		b := &all[i]
		switch {
		case !b.wanted():
		case b.partition.withdraw(b):
			b.answer(notAppended(cause))
		default:
			b.answer(notAppended(fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, cause)))
		}
	}
}
