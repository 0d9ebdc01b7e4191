package embedded

import (
	"context"
	"errors"
	"io"
	"slices"

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
	return p.findTime(ctx, ms, func(b record.Batch) (backend.Found, bool, error) {
		delta, at, ok, err := record.FindTime(b, ms)
		return backend.Found{Offset: b.BaseOffset + int64(delta), Timestamp: at}, ok, err
	})
}

// FindMaxTime implements backend.Logs.
func (s *Store) FindMaxTime(ctx context.Context, id backend.Partition) (backend.Found, error) {
	if err := s.enter(); err != nil {
		return notFound, err
	}
	defer s.life.RUnlock()
	p, err := s.partition(id)
	if err != nil {
		return notFound, err
	}
	latest := int64(-1)
	p.mu.Lock()
	for _, g := range p.segments {
		latest = max(latest, g.shownTime)
	}
	p.mu.Unlock()
	// The first batch with that time holds the record, so the search ends there.
	return p.findTime(ctx, latest, func(b record.Batch) (backend.Found, bool, error) {
		delta, at, err := record.MaxTime(b)
		return backend.Found{Offset: b.BaseOffset + int64(delta), Timestamp: at}, true, err
	})
}

// findTime asks look about every batch whose largest timestamp is at least ms,
// from the first on, until it has found what it wants.
func (p *partition) findTime(ctx context.Context, ms int64, look func(record.Batch) (backend.Found, bool, error)) (backend.Found, error) {
	p.mu.Lock()
	err := p.usable()
	segments := slices.Clone(p.segments)
	p.mu.Unlock()
	if err != nil {
		return notFound, err
	}
	for _, g := range segments {
		found, ok, err := p.findInSegment(ctx, g, ms, look)
		if errors.Is(err, errGone) {
			continue // retention has taken it since
		}
		if err != nil || ok {
			return found, err
		}
	}
	return notFound, nil
}

func (p *partition) findInSegment(ctx context.Context, g *segment, ms int64, look func(record.Batch) (backend.Found, bool, error)) (backend.Found, bool, error) {
	p.mu.Lock()
	latest, limit, next, pending := g.shownTime, g.visible, g.next, slices.Clone(g.pending)
	p.mu.Unlock()
	if limit == 0 || latest < ms {
		return notFound, false, nil
	}
	from, err := p.before(g.base, next, ms, pending)
	if err != nil {
		return notFound, false, err
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
		if h.maxTime < ms {
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
func (p *partition) before(base, next, ms int64, pending []entry) (int64, error) {
	var pos int64
	err := p.store.meta.scanRange(
		numberKey(keyIndex, p.topic.id, p.index, base), numberKey(keyIndex, p.topic.id, p.index, next),
		func(key, value []byte) error {
			_, e, err := decodeIndex(key, value)
			if err == nil && e.maxTime >= ms {
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
