package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

// Read implements backend.Logs.
func (s *Store) Read(_ context.Context, r backend.Read) ([]byte, backend.Bounds, error) {
	if err := s.enter(); err != nil {
		return nil, backend.Bounds{}, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(r.Partition)
	if err != nil {
		return nil, backend.Bounds{}, err
	}
	for {
		at, bounds, err := p.seek(r.Offset)
		if err != nil || at.segment == nil || r.MaxBytes <= 0 && !r.AtLeastOne {
			return nil, bounds, err
		}
		b, err := p.readFrom(at, r)
		if errors.Is(err, errGone) {
			continue // retention was faster; seek says what is so now
		}
		return b, bounds, err
	}
}

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
	if k := sort.Search(len(g.pending), func(k int) bool { return g.pending[k].offset > offset }); k > 0 {
		from = g.pending[k-1].pos
		p.mu.Unlock()
		return at, from, false, bounds, nil
	}
	p.mu.Unlock()
	// All entries before the pending ones are in pebble.
	e, err := p.storedEntry(g.base, offset)
	return at, e.pos, false, bounds, err
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
func (p *partition) storedEntry(base, offset int64) (entry, error) {
	it, err := p.store.meta.db.NewIter(&pebble.IterOptions{
		LowerBound: numberKey(keyIndex, p.topic.id, p.index, base),
		UpperBound: numberKey(keyIndex, p.topic.id, p.index, offset+1),
	})
	if err != nil {
		return entry{}, fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	var e entry
	if it.Last() {
		var segment int64
		if segment, e, err = decodeIndex(it.Key(), it.Value()); segment != base {
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

// readFrom returns whole batches from a place on, with one read if no batch is
// larger than max.
func (p *partition) readFrom(at place, r backend.Read) ([]byte, error) {
	g := at.segment
	h, err := p.store.files.acquire(&g.slot, g.name, false)
	if err != nil {
		return nil, p.readError(g, at.pos, err)
	}
	defer h.release()
	n := min(at.limit-at.pos, max(int64(r.MaxBytes), record.HeaderSize))
	b := slices.Grow(r.Buf[:0], int(n))[:n]
	if _, err := h.ReadAt(b, at.pos); err != nil {
		return nil, p.readError(g, at.pos, err)
	}
	first, err := parseHeader(b)
	if err != nil || first.size > at.limit-at.pos {
		return nil, p.readError(g, at.pos, errDamaged)
	}
	if first.size > int64(r.MaxBytes) {
		if !r.AtLeastOne {
			return nil, nil
		}
		b = slices.Grow(b, int(first.size-n))[:first.size]
		if n < first.size {
			if _, err := h.ReadAt(b[n:], at.pos+n); err != nil {
				return nil, p.readError(g, at.pos, err)
			}
		}
		p.goOn(g, first.last+1, at.pos+first.size)
		return b, nil
	}
	// Cut what is not whole at the end.
	end, next := first.size, first.last+1
	for end+record.HeaderSize <= n {
		one, err := parseHeader(b[end:])
		if err != nil || one.base < next {
			return nil, p.readError(g, at.pos+end, errDamaged)
		}
		if end+one.size > n {
			break
		}
		end, next = end+one.size, one.last+1
	}
	p.goOn(g, next, at.pos+end)
	return b[:end:end], nil
}

// goOn notes where the reader of a batch will read next.
func (p *partition) goOn(g *segment, offset, pos int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(cursor{g, offset, pos})
}

// Available implements backend.Logs.
func (s *Store) Available(_ context.Context, id backend.Partition, offset, most int64) (int64, backend.Bounds, error) {
	if err := s.enter(); err != nil {
		return 0, backend.Bounds{}, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return 0, backend.Bounds{}, err
	}
	at, bounds, err := p.seek(offset)
	if err != nil || at.segment == nil {
		return 0, bounds, err
	}
	return min(at.limit-at.pos+at.ahead, max(most, 0)), bounds, nil
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
