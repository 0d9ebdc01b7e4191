package guard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrBudget: the process-wide memory budget stayed spent for the whole wait, or
// one request alone asked for more than all of it.
var ErrBudget = errors.New("memory budget is spent")

// Budget is the memory that all requests in work may hold together: large
// frames, decoded bodies and priced answers. Requests that find it spent queue
// in arrival order.
type Budget struct {
	total int64
	wait  time.Duration
	sem   *semaphore.Weighted

	used           atomic.Int64
	waits, refused atomic.Uint64
	waited         atomic.Int64 // nanoseconds
}

// Stats tells what a budget is used for.
type Stats struct {
	Total, Used int64         // bytes
	Waits       uint64        // reservations that found it spent
	Waited      time.Duration // by all of them
	Refused     uint64        // those that got nothing
}

// Stats returns the figures of this moment.
func (b *Budget) Stats() Stats {
	return Stats{
		Total: b.total, Used: b.used.Load(),
		Waits: b.waits.Load(), Waited: time.Duration(b.waited.Load()), Refused: b.refused.Load(),
	}
}

// NewBudget returns a budget of total bytes; a request waits at most wait for
// its share.
func NewBudget(total int64, wait time.Duration) *Budget {
	return &Budget{total: total, wait: wait, sem: semaphore.NewWeighted(total)}
}

// Lease returns an account for one request. It is not safe for concurrent use.
func (b *Budget) Lease() Lease { return Lease{budget: b} }

// LeaseAbove returns an account whose first free bytes are not charged, so that
// a small request never waits behind large ones.
func (b *Budget) LeaseAbove(free int64) Lease { return Lease{budget: b, free: free, left: free} }

// Lease is what one request holds of a Budget. The zero Lease charges nothing.
type Lease struct {
	budget *Budget
	free   int64 // bytes that are not charged, and how many of them are left
	left   int64
	held   int64
}

// Reserve charges n more bytes to the lease. It waits for the budget's wait
// time at most, or until ctx ends, and then fails with ErrBudget or the
// context's error; what was held before stays held.
func (l *Lease) Reserve(ctx context.Context, n int64) error {
	b := l.budget
	if b != nil && n > 0 {
		gift := min(n, l.left)
		n, l.left = n-gift, l.left-gift
	}
	switch {
	case b == nil || n <= 0:
		return nil
	case b.sem.TryAcquire(n):
		l.hold(n)
		return nil
	case n > b.total-l.held: // it would wait for itself
		b.refused.Add(1)
		return fmt.Errorf("%w: %d bytes asked of %d", ErrBudget, l.held+n, b.total)
	}
	b.waits.Add(1)
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	err := b.sem.Acquire(waiting, n)
	b.waited.Add(int64(time.Since(began)))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.refused.Add(1)
		return fmt.Errorf("%w: no %d bytes within %v", ErrBudget, n, b.wait)
	}
	l.hold(n)
	return nil
}

// hold books what has been acquired.
func (l *Lease) hold(n int64) {
	l.held += n
	l.budget.used.Add(n)
}

// Held returns the bytes that the lease holds of the budget.
func (l *Lease) Held() int64 { return l.held }

// Release gives everything back. The lease can be used again.
func (l *Lease) Release() {
	if l.held > 0 {
		l.budget.used.Add(-l.held)
		l.budget.sem.Release(l.held)
		l.held = 0
	}
	l.left = l.free
}
