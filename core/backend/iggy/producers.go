package iggy

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/backend/producerstate"
	"github.com/iggykafka/gateway/core/record"
)

// How much of the end of a log is read to know its producers again; the last of
// the batches found is read whole.
const (
	rebuildBytes    = 32 << 20
	rebuildMessages = 200_000
	// rebuilders is how many partitions are read for that at a time.
	rebuilders = 4
)

// sending is one request and what hangs on it.
type sending struct {
	batches  []*waiting // to be stored
	judged   []*waiting // answered by what becomes of those
	messages []message.Message
	base     int64 // expected offset of the first message
	count    int64 // of the messages
	draft    *producerstate.Draft
}

// open returns everything that has no answer yet, in the order in which it came.
func (s *sending) open() []*waiting {
	all := slices.Concat(s.batches, s.judged)
	slices.SortStableFunc(all, func(a, b *waiting) int { return a.verdict.turn - b.verdict.turn })
	return all
}

// verdict is what has been decided about a batch that is not to be stored.
type verdict struct {
	turn   int   // in the request
	err    error // refused
	offset int64 // of its original
}

// shifted is the verdict when what was expected at from has come to lie at base.
func (v verdict) shifted(from, base int64) verdict {
	if v.offset >= from {
		v.offset += base - from
	}
	return v
}

func (v verdict) appended(start int64) backend.Appended {
	if v.err != nil {
		return notAppended(v.err)
	}
	return backend.Appended{BaseOffset: v.offset, LogStart: start, AppendTime: -1, Duplicate: true}
}

// decide judges the batches in order, each as if those in front of it had been
// stored. What depends on none of them is answered at once.
func (p *partition) decide(group []*waiting) *sending {
	w, now := &p.writer, p.store.now()
	s := &sending{base: w.next, draft: w.producers.Draft(w.next), batches: make([]*waiting, 0, len(group))}
	ms, expiration := now.UnixMilli(), p.store.opts.ProducerExpiration.Milliseconds()
	if now.Sub(w.expired) > expireEvery {
		w.expired = now
		w.producers.Expire(ms, expiration)
	}
	for i, b := range group {
		v := &b.verdict
		*v = verdict{turn: i}
		if b.batch.ProducerID >= 0 {
			offset, duplicate, drafted, err := s.draft.Check(&b.batch, ms, expiration)
			if duplicate || err != nil {
				v.offset, v.err = offset, err
				if drafted {
					s.judged = append(s.judged, b)
				} else {
					p.mu.Lock()
					start := p.shown().Start
					p.mu.Unlock()
					b.answer(v.appended(start))
				}
				continue
			}
		}
		b.stamp(ms)
		b.batch.SetBaseOffset(s.base + s.count)
		if b.batch.ProducerID >= 0 {
			s.draft.Add(&b.batch, ms, expiration)
		}
		s.count += int64(b.batch.Count)
		s.batches = append(s.batches, b)
	}
	return s
}

// stamp gives the records of a batch on a LogAppendTime topic the time at which
// they are first sent, so that times follow the order of the log.
func (b *waiting) stamp(ms int64) {
	if !b.batch.LogAppendTime() || b.stamped {
		return
	}
	b.stamped = true
	b.batch.SetLogAppendTime(ms)
	for i := range b.messages {
		b.messages[i].Header.OriginTimestamp = uint64(ms) * 1000
	}
}

// learn makes sure that every batch of a producer that is in the log, as far as
// it is read, is known of.
func (p *partition) learn(ctx context.Context) error {
	w, s := &p.writer, p.store
	if w.learnt == w.next {
		return nil
	}
	if err := s.queues.rebuilding.Acquire(ctx, 1); err != nil {
		return unwritten(err)
	}
	defer s.queues.rebuilding.Release(1)
	p.mu.Lock()
	start := p.start
	p.mu.Unlock()
	if w.next > max(start, w.learnt) {
		if err := p.lastIsThere(ctx); err != nil {
			return err
		}
	}
	t := tailReader{oldest: s.now().Add(-s.opts.ProducerExpiration)}
	if err := t.read(ctx, p, max(start, w.learnt), w.next); err != nil {
		return unwritten(err)
	}
	for i := range t.runs {
		r := &t.runs[len(t.runs)-1-i]
		w.producers.Add(&r.batch, r.at, s.opts.ProducerExpiration.Milliseconds())
	}
	w.learnt = w.next
	return nil
}

// run is a batch of an idempotent producer, or a part of one, as found in a log.
type run struct {
	batch record.Batch // the fields that a producer's window needs
	begun bool         // the first record is there
	at    int64        // when it was stored, ms since the epoch
}

// extend takes one more record of the batch, or says that it is none.
func (r *run) extend(next *run) bool {
	gap := next.batch.BaseOffset - r.batch.BaseOffset
	same := !next.begun && gap <= math.MaxInt32 && r.batch.ProducerID == next.batch.ProducerID && r.batch.ProducerEpoch == next.batch.ProducerEpoch &&
		int64(next.batch.BaseSequence) == (int64(r.batch.BaseSequence)+gap)&math.MaxInt32
	if same {
		r.batch.LastOffsetDelta = int32(gap) + next.batch.LastOffsetDelta
	}
	return same
}

// tailReader reads a log from its end on, a piece at a time.
type tailReader struct {
	oldest time.Time // what was stored before says nothing any more
	runs   []run     // the newest first
	bytes  int64
	count  int64
	old    bool
}

func (t *tailReader) read(ctx context.Context, p *partition, from, to int64) error {
	for to > from && !t.enough() {
		first := max(from, to-p.pieces())
		piece, err := t.piece(ctx, p, first, to)
		if err != nil {
			return err
		}
		// The oldest batch so far may have begun in this piece.
		if n := len(t.runs); n > 0 && len(piece) > 0 && piece[len(piece)-1].extend(&t.runs[n-1]) {
			t.runs = t.runs[:n-1]
		}
		slices.Reverse(piece)
		t.runs = append(t.runs, piece...)
		to = first
	}
	return nil
}

// enough reports whether the rest of the log is left alone. The batch that was
// found last is read whole, unless that takes as much again.
func (t *tailReader) enough() bool {
	whole := len(t.runs) == 0 || t.runs[len(t.runs)-1].begun
	over := func(times int64) bool { return t.bytes >= times*rebuildBytes || t.count >= times*rebuildMessages }
	return t.old || over(1) && whole || over(2)
}

// piece returns the batches in a part of the log, the oldest first.
func (t *tailReader) piece(ctx context.Context, p *partition, from, to int64) (runs []run, err error) {
	err = p.scan(ctx, from, to, forward, func(m *message.Message) bool {
		t.bytes += message.Size(m)
		t.count++
		id, epoch, sequence, first, ok := message.ParseID(m.Header.Id)
		if stored := time.UnixMicro(int64(m.Header.Timestamp)); stored.Before(t.oldest) {
			t.old = true
		} else if ok && message.FromGateway(m) {
			one := run{
				batch: record.Batch{
					BaseOffset: int64(m.Header.Offset), ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence,
				},
				begun: first, at: stored.UnixMilli(),
			}
			if n := len(runs); n == 0 || !runs[n-1].extend(&one) {
				runs = append(runs, one)
			}
		}
		return true
	})
	return runs, err
}
