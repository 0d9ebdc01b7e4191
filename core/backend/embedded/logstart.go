package embedded

import (
	"context"
	"fmt"
	"sort"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// DeleteRecords implements backend.Logs. The new start is written before the
// answer; files that lie below it whole go at once, or with the next retention.
func (s *Store) DeleteRecords(_ context.Context, id backend.Partition, before int64) (int64, error) {
	if err := s.enter(); err != nil {
		return -1, err
	}
	defer s.life.RUnlock()
	p, start, moved, err := s.moveStart(id, before)
	if err != nil {
		return -1, err
	}
	if !moved {
		return start, nil
	}
	if err := p.dropBelow(); err != nil {
		s.log.Warn("files of deleted records are left; retention tries again", zap.String("topic", p.topic.name),
			zap.Int32("partition", p.index), cause(err))
	}
	return start, nil
}

// moveStart moves the start of a log, durably, and returns where it is; moved is
// false when it was there already.
func (s *Store) moveStart(id backend.Partition, before int64) (_ *partition, start int64, moved bool, _ error) {
	s.committing.RLock() // the key must not outlive the topic
	defer s.committing.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return nil, 0, false, err
	}
	p.w.Lock()
	defer p.w.Unlock()
	p.mu.Lock()
	bounds, err := p.bounds(), p.usable()
	p.mu.Unlock()
	switch {
	case err != nil:
		return nil, 0, false, err
	case before > bounds.End:
		return nil, 0, false, fmt.Errorf("%w: %d is above %d", backend.ErrOffsetOutOfRange, before, bounds.End)
	case before <= bounds.Start:
		return p, bounds.Start, false, nil
	}
	if err := s.meta.set(partitionKey(keyStart, p.topic.id, p.index), encodeStart(before), acknowledged); err != nil {
		return nil, 0, false, err
	}
	p.mu.Lock()
	p.start = before
	p.watchers.Wake() // who waits below it learns that it is gone
	p.mu.Unlock()
	s.keeper.note(p, 0)
	return p, before, true, nil
}

func encodeStart(offset int64) []byte { return appendNumbers(nil, offset) }

func decodeStart(b []byte) (offset int64, err error) {
	return offset, numbers(b, &offset)
}

// dropBelow drops the segments that lie below the log start.
func (p *partition) dropBelow() error {
	p.store.saving.Lock()
	defer p.store.saving.Unlock()
	p.w.Lock()
	defer p.w.Unlock()
	p.mu.Lock()
	n := 0
	for p.usable() == nil && n < len(p.segments) && p.passed(p.segments[n]) && p.segments[n].droppable() {
		n++
	}
	old := p.cutFront(n)
	p.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	return p.dropSegments(old)
}

// passed tells whether all records of a segment have been deleted; mu is held.
func (p *partition) passed(g *segment) bool { return g.next <= p.start }

// droppable tells whether a segment may be dropped: there is something in it, and
// readers may see all of that.
func (g *segment) droppable() bool { return g.size > 0 && g.visible == g.size }

// cutFront takes the first n segments out of the log, which begins behind them
// then, if it did not already; w and mu are held.
func (p *partition) cutFront(n int) (old []*segment) {
	if n == 0 {
		return nil
	}
	old, p.segments = p.segments[:n], p.segments[n:]
	first := p.next
	if len(p.segments) > 0 {
		first = p.segments[0].base
	}
	p.start = max(p.start, first)
	// What lies below the first segment is not on the disk any more, and missed
	// by nobody.
	p.durable = max(p.durable, first)
	p.torn = p.torn && len(p.segments) > 0
	return old
}

// entryBefore returns the position of the last index entry of a segment at or
// before an offset.
func (p *partition) entryBefore(g *segment, offset int64) (int64, error) {
	p.mu.Lock()
	if k := sort.Search(len(g.pending), func(k int) bool { return g.pending[k].offset > offset }); k > 0 {
		defer p.mu.Unlock()
		return g.pending[k-1].pos, nil
	}
	p.mu.Unlock()
	// All entries before the pending ones are in pebble.
	e, err := p.storedEntry(g.id(), offset)
	return e.pos, err
}
