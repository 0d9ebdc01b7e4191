package iggy

import (
	"context"
	"errors"
	"fmt"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

// firstPause and longestPause are the waits between two questions to a server
// that does not answer.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// outcome brings a send to its end: every batch has its answer then, or is
// returned to be tried again.
func (p *partition) outcome(ctx context.Context, s *sending, err error) (again [][]*waiting) {
	var lost *client.Lost
	code := client.Code(err)
	switch {
	case err == nil:
		p.writer.denied = false
		p.stored(ctx, s)
	case errors.As(err, &lost):
		p.writer.proven = 0
		return p.settle(ctx, s, lost)
	case errors.Is(err, client.ErrOtherConnection):
		p.writer.proven, p.writer.sure = 0, false
		return [][]*waiting{s.open()}
	case code != 0 && len(s.batches) > 1 && !nowhere(code) && code != ierror.UnauthorizedCode:
		// It may be about one of them alone: each in a request of its own.
		for _, b := range s.open() {
			again = append(again, []*waiting{b})
		}
		return again
	default:
		p.fail(s.open(), p.unsent(err))
	}
	return nil
}

// unsent is the backend's error for a send that was refused, or did not come to the
// server.
func (p *partition) unsent(err error) error {
	if code := client.Code(err); code != 0 {
		return p.refusal(code, err)
	}
	p.writer.sure = false
	if err = unwritten(err); !errors.Is(err, backend.ErrUnavailable) {
		// Nobody foresaw this. If it was written it will be found.
		err = fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	return err
}

// nowhere: the server has no such topic or partition.
func nowhere(code ierror.Code) bool {
	return code == codeStream || code == codeTopic || code == codePartition
}

// refusal is the backend's error for what the server has refused.
func (p *partition) refusal(code ierror.Code, err error) error {
	is := backend.ErrUnavailable
	switch code {
	case ierror.TooBigUserHeadersCode, ierror.TooBigMessagePayloadCode:
		is = backend.ErrTooLarge
	case codeStream, codeTopic:
		is = backend.ErrUnknownTopic
	case codePartition:
		is = backend.ErrUnknownPartition
	case ierror.UnauthorizedCode:
		if !p.writer.denied {
			p.writer.denied = true
			p.store.log.Error("Iggy does not let the gateway write to a topic; give its user the permission to send and poll messages there",
				zap.String("stream", p.at.Stream), zap.String("topic", p.at.Name), zap.Error(err))
		}
	}
	if nowhere(code) {
		p.store.forget(p)
		p.writer.sure = false
	}
	return fmt.Errorf("%w: send to partition %d of %s: %w", is, p.index, p.at.Name, err)
}

// stored is the end of a send that the server has acknowledged: what is left is
// to find out where the batches are.
func (p *partition) stored(ctx context.Context, s *sending) {
	expected := s.base + s.count
	if p.store.cfg.SoleWriter {
		p.finish(ctx, s, s.base, expected)
		return
	}
	var base, end int64
	err := p.insist(ctx, nil, func() (err error) {
		if end, err = p.askEnd(ctx); err == nil && end > expected {
			// Somebody else has written too.
			base, err = p.find(ctx, s, end, backward)
		} else {
			base = s.base
		}
		return err
	})
	switch {
	case err != nil:
		p.fail(s.open(), err)
	case base < 0 || end < expected:
		p.fail(s.open(), p.notThere(end, expected))
	default:
		p.finish(ctx, s, base, end)
	}
}

// notThere is for records that the server has acknowledged and does not have.
func (p *partition) notThere(end, expected int64) error {
	p.store.log.Error("records that the Iggy server has acknowledged are not in its log",
		append(p.named(), zap.Int64("end", end), zap.Int64("expected", expected))...)
	p.store.forget(p)
	p.writer.sure, p.writer.proven = false, 0
	return backend.ErrOutcomeUnknown
}

// settle is the end of a send of which it is not known whether the server has
// executed it. Nothing else is taken in until that is known.
func (p *partition) settle(ctx context.Context, s *sending, lost *client.Lost) (again [][]*waiting) {
	for _, b := range s.batches {
		b.lost = true
	}
	p.hold()
	var base, end int64
	var count int
	err := p.insist(ctx, lost, func() (err error) {
		if end, err = p.askEnd(ctx); err != nil {
			return err
		}
		if base, count = -1, 0; end > s.base {
			base, err = p.find(ctx, s, end, forward)
		}
		if err == nil && base >= 0 {
			count, err = p.together(ctx, base, end, s.messages)
		}
		return err
	})
	if err == nil && count > 0 && count < len(s.messages) {
		// The server was killed when it wrote their index.
		p.store.log.Warn("the Iggy server was killed in the middle of a write, and has the first messages of a request alone; all of them are sent again, and the offsets of these stay a gap",
			append(p.named(), zap.Int64("first", base), zap.Int64("last", base+int64(count)-1))...)
		err = p.voids(ctx, span{base, base + int64(count)})
	}
	p.letGo()
	switch {
	case err != nil:
		p.fail(s.open(), err)
		return nil
	case count == len(s.messages):
		p.finish(ctx, s, base, end)
		return nil
	}
	return [][]*waiting{s.open()}
}

// insist calls ask until it has an answer that counts, once the server has
// certainly finished with the request that was lost, if one was. Meanwhile the
// partition takes nothing in. Errors: that the partition is gone, or
// backend.ErrOutcomeUnknown when it is broken, or at the end of the store.
func (p *partition) insist(ctx context.Context, lost *client.Lost, ask func() error) error {
	if lost == nil {
		// The first question is part of every send, and seldom fails.
		if err := ask(); counts(err) {
			return outcomeOf(err)
		}
	}
	p.shut()
	defer p.reopen()
	p.writer.sure = false // it may be another server by now
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := ctx.Err()
		if lost != nil && err == nil {
			if err = p.store.data.Settle(ctx, lost); err == nil {
				lost = nil
				p.writer.arrived()
			}
		}
		if lost == nil && err == nil {
			if err = ask(); counts(err) {
				return outcomeOf(err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
		case <-time.After(pause):
		}
	}
}

// counts reports whether asking again would make no difference.
func counts(err error) bool {
	return err == nil || vanished(err) || errors.Is(err, backend.ErrStorage)
}

func outcomeOf(err error) error {
	if errors.Is(err, backend.ErrStorage) {
		return fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, err)
	}
	return err
}

// shut has the queue refused, what is in it and what comes.
func (p *partition) shut() {
	w := &p.writer
	why := fmt.Errorf("%w: it is not known yet what became of an earlier request", backend.ErrUnavailable)
	w.mu.Lock()
	queue, asked := w.queue, w.questions
	w.queue, w.questions, w.refuse = nil, nil, why
	w.mu.Unlock()
	for _, q := range asked {
		q.answer <- described{err: why}
	}
	for _, b := range queue {
		b.answer(notAppended(why))
		p.release(b)
	}
}

func (p *partition) reopen() {
	p.writer.mu.Lock()
	defer p.writer.mu.Unlock()
	p.writer.refuse = nil
}

// finish answers batches that lie in the log from base on; end is behind them.
func (p *partition) finish(ctx context.Context, s *sending, base, end int64) {
	s.draft.Commit(base)
	p.writer.moved(end)
	p.store.sawEnd(p, end)
	start := p.shownStart(ctx)
	at, batches, lent := base, make([]record.Batch, len(s.batches)), make([]*loan, len(s.batches))
	for i, b := range s.batches {
		b.batch.SetBaseOffset(at)
		at += int64(b.batch.Count)
		batches[i], lent[i] = b.batch, b.loan
	}
	p.appended(batches, end, lent...)
	for _, b := range s.batches {
		if !b.lost {
			b.loan.release() // it has been sent, and nobody but readers looks at it
		}
	}
	for i, b := range s.batches {
		out := backend.Appended{BaseOffset: batches[i].BaseOffset, LogStart: start, AppendTime: -1}
		if batches[i].LogAppendTime() {
			out.AppendTime = batches[i].MaxTimestamp
		}
		b.answer(out)
	}
	for _, b := range s.judged {
		b.answer(b.verdict.shifted(s.base, base).appended(start))
	}
}

// logStart returns where the log begins in Iggy, as far as is known.
func (p *partition) logStart(ctx context.Context) int64 {
	p.mu.Lock()
	start, known := p.start, !p.startedAt.IsZero()
	p.mu.Unlock()
	if known {
		return start
	}
	bounds, err := p.probe(ctx)
	if err != nil {
		return -1 // which Kafka takes for unknown
	}
	return bounds.Start
}

// find looks for the messages of a send in what has been stored since it began,
// and returns the offset of the first of them; −1: they are not there.
func (p *partition) find(ctx context.Context, s *sending, end int64, d direction) (int64, error) {
	index := make(map[message.ID]int64, len(s.messages))
	for i := range s.messages {
		index[s.messages[i].Header.Id] = int64(i)
	}
	base := int64(-1)
	err := p.scan(ctx, min(s.base, end), end, d, func(m *message.Message) bool {
		i, ours := index[m.Header.Id]
		if ours {
			base = int64(m.Header.Offset) - i
		}
		return !ours
	})
	return base, err
}
