package iggy

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// The ends of logs are kept because Iggy forgets them: a partition whose segments
// have all expired begins again at 0 when the server starts the next time, and a
// server that does not save every message before it answers loses the last ones
// when it is killed. Either way offsets that were given out would be given out
// again, to other records.

// noted is what is noted of the end of one log.
type noted struct {
	seen   atomic.Int64 // the last end that is certain to be stored
	ticked atomic.Int64 // seen, one tick earlier
	kept   atomic.Int64 // what the ledger has, as far as this process wrote it
}

// knownEnd returns the last end of p's log that is known: from this process or from
// the internal log; 0 when there is none.
func (s *Store) knownEnd(p *partition) int64 {
	kept, err := s.number(partitionKey(keyEnd, p.id))
	if err != nil {
		s.log.Error("the end of a log is not known", zap.Error(err))
	}
	return max(kept, p.noted.seen.Load(), p.trim.before.Load())
}

// sawEnd notes an end that is certain to be stored, for the internal log. It costs
// nothing but memory; ends that are lower than what was noted change nothing.
func (s *Store) sawEnd(p *partition, end int64) {
	for {
		old := p.noted.seen.Load()
		if end <= old || p.noted.seen.CompareAndSwap(old, end) {
			return
		}
	}
}

// checkEnd compares the end that Iggy says p's log has with the one that is known.
// A log that ends too early gives an ErrStorage that says what to do; with
// iggy.accept_truncation its end is taken, and the log says so once.
func (s *Store) checkEnd(ctx context.Context, p *partition, end int64) error {
	known := s.knownEnd(p)
	if end >= known {
		return nil
	}
	if !s.cfg.AcceptTruncation {
		return fmt.Errorf("%w: partition %d of topic %s ends at offset %d in Iggy and had reached %d: records are lost, or all had expired when Iggy was started; the gateway does not give out their offsets again; set iggy.accept_truncation to go on at %d, or, after all had expired, which Iggy does not recover from, delete the topic and make it anew",
			backend.ErrStorage, p.id.Index, p.at.Name, end, known, end)
	}
	s.log.Warn("a partition ends before what it had reached; its offsets are given out again, as iggy.accept_truncation says",
		zap.String("topic", p.at.Name), zap.Int32("partition", p.id.Index), zap.Int64("end", end), zap.Int64("had_reached", known))
	p.noted.seen.Store(end)
	p.noted.ticked.Store(end)
	p.noted.kept.Store(end)
	return s.ledger.Commit(ctx, slices.Concat(p.untrim(end), p.unvoid(end), []journal.Change{endChange(p, end)}))
}

func endChange(p *partition, end int64) journal.Change {
	return journal.Change{
		Key:   partitionKey(keyEnd, p.id),
		Value: binary.BigEndian.AppendUint64(nil, uint64(end)),
	}
}

// noteEnds writes ends to the ledger until the store ends.
func (s *Store) noteEnds(ctx context.Context) {
	clock := time.NewTicker(s.opts.endsInterval)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			s.keepEnds(ctx, func(n *noted) int64 { return n.ticked.Load() })
			for _, t := range s.catalog.topics() {
				for _, p := range t.partitions {
					p.noted.ticked.Store(p.noted.seen.Load())
				}
			}
		}
	}
}

// keepEnds writes those ends that are not in the ledger yet.
func (s *Store) keepEnds(ctx context.Context, end func(*noted) int64) {
	var changes []journal.Change
	var changed []*partition
	for _, t := range s.catalog.topics() {
		for _, p := range t.partitions {
			if at := end(&p.noted); at > p.noted.kept.Load() {
				changes, changed = append(changes, endChange(p, at)), append(changed, p)
			}
		}
	}
	if len(changes) == 0 {
		return
	}
	if err := s.commitAll(ctx, changes); err != nil {
		return // the next tick tries again
	}
	for i, p := range changed {
		p.noted.kept.Store(int64(binary.BigEndian.Uint64(changes[i].Value)))
	}
}

// lastEnds writes the ends at the end of the store.
func (s *Store) lastEnds() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.RequestTimeout)
	defer cancel()
	s.keepEnds(ctx, func(n *noted) int64 { return n.seen.Load() })
}
