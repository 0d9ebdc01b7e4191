package embedded

import (
	"context"
	"errors"
	"io"
	"slices"
	"sort"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

var notFound = backend.Found{Offset: -1, Timestamp: -1}

// FindTime implements backend.Logs.
func (s *Store) FindTime(ctx context.Context, id backend.Partition, ms int64) (backend.Found, error) {
	if err := s.enter(); err != nil {
		return notFound, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return notFound, err
	}
	p.mu.Lock()
	start := p.start
	p.mu.Unlock()
	return p.findTime(ctx, start, ms, func(b record.Batch) (backend.Found, bool, error) {
		delta, at, ok, err := record.FindTimeFrom(b, below(b, start), ms)
		return backend.Found{Offset: b.BaseOffset + int64(delta), Timestamp: at}, ok, err
	})
}

// below is how many of a batch's offsets lie below the log start.
func below(b record.Batch, start int64) int32 { return int32(max(0, start-b.BaseOffset)) }

// findTime asks look about every batch whose largest timestamp is at least ms,
// from the one at the log start on, until it has found what it wants.
func (p *partition) findTime(ctx context.Context, start, ms int64, look func(record.Batch) (backend.Found, bool, error)) (backend.Found, error) {
	p.mu.Lock()
	end := p.next
	p.mu.Unlock()
	for at := start; ; {
		g, next, err := p.behind(at)
		if err != nil || g == nil || g.base >= end {
			return notFound, err
		}
		found, ok, err := p.findInSegment(ctx, g, start, ms, look)
		if errors.Is(err, errGone) {
			continue // retention has taken it since, or compaction has another
		}
		if err != nil || ok {
			return found, err
		}
		at = next
	}
}

// behind returns the first segment with offsets at or behind one, and the offset
// that is behind it.
func (p *partition) behind(offset int64) (g *segment, next int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].next > offset })
	if err := p.usable(); err != nil || i == len(p.segments) {
		return nil, 0, err
	}
	g = p.segments[i]
	return g, g.next, nil
}

func (p *partition) findInSegment(ctx context.Context, g *segment, start, ms int64, look func(record.Batch) (backend.Found, bool, error)) (backend.Found, bool, error) {
	p.mu.Lock()
	latest, limit, next, pending := g.shownTime, g.visible, g.next, slices.Clone(g.pending)
	p.mu.Unlock()
	if limit == 0 || latest < ms {
		return notFound, false, nil
	}
	from, err := p.before(g.id(), next, ms, pending)
	if err != nil {
		return notFound, false, err
	}
	if start > g.base {
		first, err := p.entryBefore(g, start)
		if err != nil {
			return notFound, false, err
		}
		from = max(from, first)
	}
	w, err := p.walker(g, from, limit)
	if err != nil {
		return notFound, false, err
	}
	defer w.close()
	for {
		h, err := w.next()
		if err == io.EOF {
			return notFound, false, nil
		}
		if err != nil {
			return notFound, false, err
		}
		if h.maxTime < ms || h.last < start {
			continue
		}
		if err := ctx.Err(); err != nil {
			return notFound, false, err
		}
		b, err := w.batch(h)
		if err != nil {
			return notFound, false, err
		}
		found, ok, err := look(b)
		if err != nil {
			return notFound, false, p.readError(g, w.pos-h.size, err)
		}
		if ok {
			return found, true, nil
		}
	}
}

// errEnough ends a scan early.
var errEnough = errors.New("enough")

// before returns the position of the last index entry of a segment before which
// all timestamps are below ms.
func (p *partition) before(of segmentID, next, ms int64, pending []entry) (int64, error) {
	var pos int64
	err := p.store.meta.scanRange(
		numberKey(keyIndex, p.topic.id, p.index, of.base), numberKey(keyIndex, p.topic.id, p.index, next),
		func(key, value []byte) error {
			found, e, err := decodeIndex(key, value)
			if err == nil && (e.maxTime >= ms || found != of) {
				return errEnough
			}
			pos = e.pos
			return err
		})
	if errors.Is(err, errEnough) {
		return pos, nil
	}
	for _, e := range pending {
		if err != nil || e.maxTime >= ms {
			break
		}
		pos = e.pos
	}
	return pos, err
}
