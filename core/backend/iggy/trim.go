package iggy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// Iggy cannot move the start of a log: the SDK has no request for it, and only its
// cleaner deletes, whole segments at a time. So the gateway keeps, for each log
// whose records were deleted, the offset below which clients see none. The server
// still has them, and native clients still read them. Where the server's own start
// is farther on, that counts.

// trim is how far records of a log were deleted by DeleteRecords.
type trim struct {
	// before is the first offset that was not; 0: none were. It is never behind
	// the end that the log is known to have had.
	before atomic.Int64
	turn   chan struct{} // of one: held by who moves it
}

// loadTrim reads how far a log was trimmed.
func (s *Store) loadTrim(p *partition) {
	before, err := s.number(partitionKey(keyStart, p.id))
	if err != nil {
		s.log.Error("the start of a log is not known", zap.Error(err))
	}
	p.trim.before.Store(before)
}

// shown returns the ends of a log as clients see them; mu is held.
func (p *partition) shown() backend.Bounds {
	end := p.end
	if p.holding {
		end = min(end, p.held)
	}
	return backend.Bounds{Start: min(max(p.start, p.trim.before.Load()), end), End: end}
}

// shownStart is shown's start, also where it has to be asked for; −1: not known.
func (p *partition) shownStart(ctx context.Context) int64 {
	if p.logStart(ctx) < 0 {
		return -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown().Start
}

func startChange(p *partition, start int64) journal.Change {
	return journal.Change{
		Key:   partitionKey(keyStart, p.id),
		Value: binary.BigEndian.AppendUint64(nil, uint64(start)),
	}
}

// DeleteRecords implements backend.Logs: the records stay in Iggy, and clients do
// not see them any more. A batch of which some are deleted is read whole where the
// cache has it, as from Kafka, and consumers leave out what they did not ask for.
func (s *Store) DeleteRecords(ctx context.Context, id backend.Partition, before int64) (int64, error) {
	p, err := s.partition(ctx, id)
	if err != nil {
		return -1, err
	}
	select {
	case p.trim.turn <- struct{}{}:
	case <-ctx.Done():
		return -1, ctx.Err()
	}
	b, err := p.bounds(ctx, everything)
	if err == nil && before > b.End {
		err = outOfRange(before, b)
	}
	if err != nil || before <= b.Start {
		<-p.trim.turn
		return b.Start, err
	}
	return p.trimInTime(ctx, before)
}

// trimInTime trims, and waits for that as long as clients wait for a commit. It goes
// on without its caller: what the ledger has in the end is what is shown. It gives
// the turn back.
func (p *partition) trimInTime(ctx context.Context, before int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.store.opts.commitPatience)
	defer cancel()
	done := make(chan error, 1)
	running := p.store.run(func(ctx context.Context) {
		done <- p.trimTo(ctx, before)
		<-p.trim.turn
	})
	if !running {
		<-p.trim.turn
		return -1, backend.ErrUnavailable
	}
	select {
	case err := <-done:
		if err != nil {
			return -1, err
		}
	case <-ctx.Done():
		return -1, fmt.Errorf("%w: %w", backend.ErrOutcomeUnknown, ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown().Start, nil
}

// trimTo stores where the log starts for clients, and shows it so.
func (p *partition) trimTo(ctx context.Context, before int64) error {
	err := p.store.ledger.Commit(ctx, []journal.Change{startChange(p, before)})
	if err != nil {
		return err
	}
	p.mu.Lock()
	there := before <= p.end // unless it was truncated meanwhile
	if there {
		p.trim.before.Store(before)
	}
	p.mu.Unlock()
	if gone := p.store.topicOf(p) == nil; gone || !there {
		// What is left here the next start removes, or the next truncation.
		err := p.store.ledger.Commit(ctx, []journal.Change{{Key: partitionKey(keyStart, p.id)}})
		if gone {
			return errors.Join(backend.ErrUnknownTopic, err)
		}
		return errors.Join(backend.ErrOutcomeUnknown, err)
	}
	p.store.cache.dropBefore(&p.tail, before)
	return nil
}

// untrim is for a log that is taken to end earlier than it did: what is stored from
// there on was not deleted. It returns what else the ledger has to know of it.
func (p *partition) untrim(end int64) []journal.Change {
	if p.trim.before.Load() <= end {
		return nil
	}
	p.trim.before.Store(end)
	return []journal.Change{startChange(p, end)}
}
