package embedded

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

// place is where a batch begins, and how far readers may go in its segment.
type place struct {
	segment *segment // nil: the end of the log
	pos     int64
	limit   int64
	// ahead is how many bytes readers may see behind limit, in later segments.
	ahead int64
}

// seek finds the batch that holds the offset, or if there is none the first one
// behind it.
func (p *partition) seek(offset int64) (place, backend.Bounds, error) {
	at, from, exact, bounds, err := p.floor(offset)
	if err != nil || at.segment == nil || exact {
		return at, bounds, err
	}
	if at.pos, err = p.walk(at, from, offset); errors.Is(err, errGone) {
		return p.seek(offset)
	}
	if err == nil && at.pos == at.limit {
		err = p.readError(at.segment, at.pos, errDamaged)
	}
	if err == nil {
		p.mu.Lock()
		p.remember(cursor{at.segment, offset, at.pos})
		p.mu.Unlock()
	}
	return at, bounds, err
}

// floor finds a batch at or before the offset from what is known without
// reading the segment. exact: it is the right one; otherwise the walk begins
// at from.
func (p *partition) floor(offset int64) (at place, from int64, exact bool, _ backend.Bounds, _ error) {
	p.mu.Lock()
	if err := p.usable(); err != nil {
		p.mu.Unlock()
		return at, 0, false, backend.Bounds{}, err
	}
	bounds := p.bounds()
	if offset < p.start || offset > p.end {
		p.mu.Unlock()
		return at, 0, false, bounds, backend.ErrOffsetOutOfRange
	}
	if offset == p.end || len(p.segments) == 0 {
		if g := p.last(); g != nil && g.next == offset {
			p.remember(cursor{g, offset, g.size})
		}
		p.mu.Unlock()
		return at, 0, false, bounds, nil
	}
	i := p.find(offset)
	if offset >= p.segments[i].next {
		i++ // there is a hole behind the segment
	}
	if i == len(p.segments) {
		p.mu.Unlock()
		return at, 0, false, bounds, nil
	}
	g := p.segments[i]
	at = place{segment: g, limit: g.visible, ahead: p.readable() - (g.start + g.visible)}
	if c := p.cursor(g, offset); c != nil {
		at.pos = c.pos
		p.mu.Unlock()
		return at, c.pos, true, bounds, nil
	}
	if offset <= g.base {
		p.mu.Unlock()
		return at, 0, true, bounds, nil
	}
	p.mu.Unlock()
	from, err := p.entryBefore(g, offset)
	return at, from, false, bounds, err
}

// readable is the log position behind what readers may see; mu is held.
func (p *partition) readable() int64 {
	for i := len(p.segments) - 1; i >= 0; i-- {
		if g := p.segments[i]; g.visible > 0 || i == 0 {
			return g.start + g.visible
		}
	}
	return 0
}

func (p *partition) cursor(g *segment, offset int64) *cursor {
	if p.cursors == nil {
		return nil
	}
	for i := range p.cursors {
		if c := &p.cursors[i]; c.segment == g && c.offset == offset && c.pos < g.visible {
			return c
		}
	}
	return nil
}

// storedEntry returns the last index entry of a segment at or before an offset
// that pebble has; its zero value stands for the beginning of the segment.
func (p *partition) storedEntry(of segmentID, offset int64) (entry, error) {
	it, err := p.store.meta.db.NewIter(&pebble.IterOptions{
		LowerBound: numberKey(keyIndex, p.topic.id, p.index, of.base),
		UpperBound: numberKey(keyIndex, p.topic.id, p.index, offset+1),
	})
	if err != nil {
		return entry{}, fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	var e entry
	if it.Last() {
		var found segmentID
		// Another one may be written, or have been, for the same offsets.
		if found, e, err = decodeIndex(it.Key(), it.Value()); found != of {
			e = entry{}
		}
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return entry{}, fmt.Errorf("%w: index of %s: %w", backend.ErrStorage, p.name(), err)
	}
	return e, nil
}

// walk reads headers from a known batch on until the one that holds the offset,
// or the first behind it, and returns its position.
func (p *partition) walk(at place, from, offset int64) (int64, error) {
	w, err := p.walker(at.segment, from, at.limit)
	if err != nil {
		return 0, err
	}
	defer w.close()
	for {
		pos := w.pos
		h, err := w.next()
		if err == io.EOF {
			return at.limit, nil
		}
		if err != nil {
			return 0, err
		}
		if h.last >= offset {
			return pos, nil
		}
	}
}

func (p *partition) name() string { return fmt.Sprintf("topic %s partition %d", p.topic.name, p.index) }

// readError makes an error of a segment's file one of the contract's. The first
// of a file is told.
func (p *partition) readError(g *segment, pos int64, err error) error {
	if errors.Is(err, errGone) {
		return err
	}
	if g.told.CompareAndSwap(false, true) {
		p.store.log.Error("a segment file cannot be read: see to the disk, or restore the file from a backup and start the gateway again",
			zap.String("topic", p.topic.name), zap.Int32("partition", p.index), zap.String("file", g.name),
			zap.Int64("byte", pos), cause(err))
	}
	return fmt.Errorf("%w: %s at byte %d: %w", backend.ErrStorage, g.name, pos, err)
}
