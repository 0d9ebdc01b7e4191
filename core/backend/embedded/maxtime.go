package embedded

import (
	"context"
	"errors"
	"io"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record"
)

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
	start, latest, err := p.latest(ctx)
	if err != nil {
		return notFound, err
	}
	// The first batch with that time holds the record, so the search ends there,
	// unless its records with that time were deleted or compacted away.
	return p.findTime(ctx, start, latest, func(b record.Batch) (backend.Found, bool, error) {
		if from := below(b, start); from > 0 {
			delta, at, ok, err := record.MaxTimeFrom(b, from)
			return backend.Found{Offset: b.BaseOffset + int64(delta), Timestamp: at}, ok && at >= latest, err
		}
		delta, at, err := record.MaxTime(b)
		return backend.Found{Offset: b.BaseOffset + int64(delta), Timestamp: at}, b.Count > 0, err
	})
}

// latest returns the start of the log and the largest timestamp from there on.
func (p *partition) latest(ctx context.Context) (start, latest int64, err error) {
	for {
		var first *segment // the start lies inside it
		latest = -1
		p.mu.Lock()
		start, err = p.start, p.usable()
		for _, g := range p.segments {
			switch {
			case p.passed(g):
			case g.base < start:
				first = g
			default:
				latest = max(latest, g.shownTime)
			}
		}
		p.mu.Unlock()
		if err != nil || first == nil {
			return start, latest, err
		}
		at, err := p.latestIn(ctx, first, start)
		if errors.Is(err, errGone) {
			continue // it has been dropped, or compaction has another
		}
		return start, max(latest, at), err
	}
}

// latestIn returns the largest timestamp of a segment at or behind the log start.
func (p *partition) latestIn(ctx context.Context, g *segment, start int64) (int64, error) {
	latest, done, err := p.latestLies(g, start)
	if err != nil || done {
		return latest, err
	}
	from, err := p.entryBefore(g, start)
	if err != nil {
		return -1, err
	}
	p.mu.Lock()
	limit := g.visible
	p.mu.Unlock()
	w, err := p.walker(g, from, limit)
	if err != nil {
		return -1, err
	}
	defer w.close()
	latest = -1
	for {
		h, err := w.next()
		if err == io.EOF {
			return latest, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return -1, err
		}
		if h.last < start {
			continue
		}
		if h.base < start {
			if h.maxTime, err = p.latestOf(w, h, start); err != nil {
				return -1, err
			}
		}
		latest = max(latest, h.maxTime)
	}
}

// latestLies asks the last entry of a segment's index: where no timestamp before
// it is the largest of the segment, and it lies behind the start, nothing needs to
// be read.
func (p *partition) latestLies(g *segment, start int64) (latest int64, behind bool, err error) {
	p.mu.Lock()
	latest = g.shownTime
	next, pending := g.next, g.pending
	p.mu.Unlock()
	var e entry
	if len(pending) > 0 {
		e = pending[len(pending)-1]
	} else if e, err = p.storedEntry(g.id(), next); err != nil {
		return -1, false, err
	}
	return latest, e.offset >= start && e.maxTime < latest, nil
}

// latestOf returns the largest timestamp of the records at or behind the start in
// the batch that holds it.
func (p *partition) latestOf(w *walker, h header, start int64) (int64, error) {
	b, err := w.batch(h)
	if err != nil {
		return -1, err
	}
	_, at, ok, err := record.MaxTimeFrom(b, below(b, start))
	if err != nil {
		return -1, p.readError(w.g, w.pos-h.size, err)
	}
	if !ok {
		return -1, nil
	}
	return at, nil
}
