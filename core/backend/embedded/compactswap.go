package embedded

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// A segment that compaction writes gets a name of its own. Before there is a file, a
// note says that it is to be removed; the commit that puts it in the place of others
// takes that note away and writes theirs. So a start finds one or the other, whenever
// the last run ended, and removes what is not in use.

// announce writes the note that a file is to be removed.
func (p *partition) announce(g *segment) error {
	return p.change(func(b *pebble.Batch) error {
		return errors.Join(
			b.Set(plainKey(keyFormat), []byte(formatCompacted), nil),
			b.Set(droppedKey(p.topic.id, p.index, g.base, g.generation), nil, nil))
	})
}

// change commits to the disk what fn adds to a batch, unless the topic has been
// deleted.
func (p *partition) change(fn func(b *pebble.Batch) error) error {
	s := p.store
	s.committing.RLock() // no key may outlive the topic
	defer s.committing.RUnlock()
	if _, err := s.topicByID(p.topic.id); err != nil {
		return errGone
	}
	b := s.meta.db.NewBatch()
	if err := fn(b); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	return s.meta.commit(b, durable)
}

// discard removes a file that has not become part of the log.
func (p *partition) discard(g *segment) {
	p.remove(g)
}

// remove removes files of which there are notes that they are of no use.
func (p *partition) remove(old ...*segment) {
	notes := map[string][]byte{}
	for _, g := range old {
		notes[g.name] = droppedKey(p.topic.id, p.index, g.base, g.generation)
	}
	if err := p.store.removeDropped(notes); err != nil {
		p.store.log.Warn("files that compaction has replaced are left; the next start tries again",
			zap.String("topic", p.topic.name), zap.Int32("partition", p.index), cause(err))
	}
}

// replace puts a segment, which is on the disk, in the place of a group. Readers that
// have begun with the old files end with them. errGone when the group is no longer
// part of the log.
func (p *partition) replace(group []*segment, g *segment) error {
	s := p.store
	s.saving.Lock() // nobody else takes segments away
	defer s.saving.Unlock()
	p.mu.Lock()
	at := p.position(group)
	p.mu.Unlock()
	if at < 0 {
		return errGone
	}
	if err := p.change(func(b *pebble.Batch) error { return p.exchange(b, group, g) }); err != nil {
		return err
	}
	p.w.Lock() // for moments: writers look at the segments too
	p.mu.Lock()
	p.swap(p.position(group), group, g)
	p.mu.Unlock()
	p.w.Unlock()
	for _, old := range group {
		s.files.drop(&old.slot)
	}
	p.remove(group...)
	return nil
}

// position returns the index of the first segment of a group, or −1 when it is not
// whole; mu is held.
func (p *partition) position(group []*segment) int {
	at := slices.Index(p.segments, group[0])
	if p.usable() != nil || at < 0 || len(p.segments)-at <= len(group) || !slices.Equal(p.segments[at:at+len(group)], group) {
		return -1
	}
	return at
}

// exchange adds to a batch all that a start must know of the new segment, and nothing
// of the old ones but that their files are to be removed.
func (p *partition) exchange(b *pebble.Batch, group []*segment, g *segment) error {
	id, last := p.topic.id, group[len(group)-1]
	err := p.store.meta.clear(b, numberKey(keyIndex, id, p.index, g.base), numberKey(keyIndex, id, p.index, last.next))
	for _, old := range group {
		err = errors.Join(err,
			b.Delete(numberKey(keySegment, id, p.index, old.base), nil),
			b.Delete(numberKey(keyCompacted, id, p.index, old.base), nil),
			b.Set(droppedKey(id, p.index, old.base, old.generation), nil, nil))
	}
	for _, e := range g.pending {
		err = errors.Join(err, b.Set(numberKey(keyIndex, id, p.index, e.offset), e.encode(g.id()), nil))
	}
	return errors.Join(err,
		b.Delete(droppedKey(id, p.index, g.base, g.generation), nil),
		b.Set(numberKey(keyCompacted, id, p.index, g.base), compactedValue{g.value(), g.generation}.encode(), nil))
}

// swap changes what readers find; w and mu are held.
func (p *partition) swap(at int, group []*segment, g *segment) {
	if at < 0 { // the topic has been deleted since
		p.store.files.drop(&g.slot)
		return
	}
	g.pending, g.sealed, g.stored = nil, true, true
	g.show(g.size, g.maxTime)
	last := group[len(group)-1]
	g.start = last.start + last.size - g.size
	for i, next := at-1, g; i >= 0; i-- {
		next, p.segments[i].start = p.segments[i], next.start-p.segments[i].size
	}
	p.segments = slices.Concat(p.segments[:at], []*segment{g}, p.segments[at+len(group):])
	p.cursors = nil // they hold on to segments
}
