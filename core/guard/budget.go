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
// in arrival order. A part of it is set aside for requests that are read before their
// turn: requests in work never wait for memory of those, which wait for them.
type Budget struct {
	total  int64
	wait   time.Duration
	onTime int64 // all but what is set aside
	sem    *semaphore.Weighted
	early  *semaphore.Weighted

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

// NewBudget returns a budget of total bytes, of which early bytes are set aside; a
// request waits at most wait for its share.
func NewBudget(total, early int64, wait time.Duration) *Budget {
	onTime := total - early
	return &Budget{
		total: total, wait: wait, onTime: onTime,
		sem: semaphore.NewWeighted(onTime), early: semaphore.NewWeighted(early),
	}
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
	// before is the request that this one is read before the end of; nil: its turn has
	// come. early is what it holds of the part set aside.
	before Before
	early  int64
}

// Before is the request in work while the next one of its connection is read.
type Before interface {
	// Ended reports whether it has ended.
	Ended() bool
	// Wait waits until it has. An error means that there is no next one.
	Wait() error
}

// ReadEarly makes the lease that of a request which is read while another one is in
// work: it charges the part of the budget that is set aside. Where that is spent Reserve
// waits for the one before, and charges the budget like others then.
func (l *Lease) ReadEarly(before Before) { l.before = before }

// OnTime says that the turn of the request has come. What it holds counts like that of
// others from now on; it waits for that, and fails, as Reserve does.
func (l *Lease) OnTime(ctx context.Context) error {
	l.before = nil
	if l.early == 0 {
		return nil
	}
	if err := l.reserve(ctx, l.early); err != nil {
		return err
	}
	l.releaseEarly()
	return nil
}

func (l *Lease) releaseEarly() {
	l.budget.used.Add(-l.early)
	l.budget.early.Release(l.early)
	l.early = 0
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
	if b == nil || n <= 0 {
		return nil
	}
	if l.before != nil {
		if !l.before.Ended() && b.early.TryAcquire(n) {
			l.early += n
			b.used.Add(n)
			return nil
		}
		if err := l.before.Wait(); err != nil {
			return err
		}
		if err := l.OnTime(ctx); err != nil {
			return err
		}
	}
	return l.reserve(ctx, n)
}

// reserve charges n bytes to what is not set aside.
func (l *Lease) reserve(ctx context.Context, n int64) error {
	b := l.budget
	switch {
	case b.sem.TryAcquire(n):
		l.hold(n)
		return nil
	case n > b.onTime-l.held: // it would wait for itself
		b.refused.Add(1)
		return fmt.Errorf("%w: %d bytes asked of %d", ErrBudget, l.held+n, b.onTime)
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
func (l *Lease) Held() int64 { return l.held + l.early }

// Release gives everything back. The lease can be used again.
func (l *Lease) Release() {
	if l.held > 0 {
		l.budget.used.Add(-l.held)
		l.budget.sem.Release(l.held)
		l.held = 0
	}
	if l.early > 0 {
		l.releaseEarly()
	}
	l.before = nil
	l.left = l.free
}
