package security

import (
	"context"
	"slices"
	"sync"
)

// Queue is where those of one address wait for its places. It is safe for concurrent use.
type Queue struct {
	mu     sync.Mutex
	places int                    // free
	lines  [ranks][]chan struct{} // in order of arrival
}

// Rank says who goes first.
type Rank uint8

const (
	Begun  Rank = iota // who had a turn already
	Before             // who had none
	Often              // who had so many that it seems to come for nothing but turns
	ranks
)

// NewQueue has so many places.
func NewQueue(places int) *Queue { return &Queue{places: places} }

// Take waits for a place, before all of higher ranks. The error is that of ctx, which ended before; else Give has to
// follow.
func (q *Queue) Take(ctx context.Context, rank Rank) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.places > 0 {
		q.places--
		q.mu.Unlock()
		return nil
	}
	mine, line := make(chan struct{}), &q.lines[rank]
	*line = append(*line, mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(*line, mine)
	if at < 0 {
		return nil // it came just now
	}
	*line = slices.Delete(*line, at, at+1)
	return ctx.Err()
}

// Give gives a place to the next. Of a suspect that is the newest: its queue may be longer
// than anybody waits, and in the order of arrival every place would go to who gives up, those
// behind it who meant no harm among them.
func (q *Queue) Give(newest bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for rank := range q.lines {
		line := &q.lines[rank]
		if len(*line) == 0 {
			continue
		}
		at := 0
		if newest && Rank(rank) != Often {
			at = len(*line) - 1
		}
		close((*line)[at])
		*line = slices.Delete(*line, at, at+1)
		return
	}
	q.places++
}
