package embedded

import (
	"context"
	"errors"
	"slices"

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
