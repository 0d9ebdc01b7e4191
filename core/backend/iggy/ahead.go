package iggy

import (
	"context"
	"slices"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// A consumer that reads a log from one end to the other asks for the next part
// as soon as it has one. Who has followed a read that polled is expected to go on:
// the next poll is made before it is asked for, while the answer is encoded,
// written and read. What it brings is kept like the rest of a poll, in the budget
// of the cache.

const (
	// followed is how many readers of one partition are recognised.
	followed = 4
	// aheadBytes is the least budget that has room for polls ahead.
	aheadBytes = 8 << 20
)

// ahead is the poll that is under way for the next read, and where reads have
// ended of late. positions.mu guards it.
type ahead struct {
	at   int64
	done chan struct{} // nil: there is none
	ends [followed]int64
	next int // of ends
}

// follows reports whether a read continues another, and notes where it ends.
func (p *partition) follows(from, end int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &p.ahead
	if i := slices.Index(a.ends[:], from); i >= 0 && from > 0 {
		a.ends[i] = end
		return true
	}
	a.ends[a.next] = end
	a.next = (a.next + 1) % followed
	return false
}

// pollAhead begins a poll from an offset on, unless one is under way.
func (p *partition) pollAhead(at int64, count int) {
	s := p.store
	if count < 1 || s.cfg.CacheBytes < aheadBytes || !s.polling.TryAcquire(1) {
		return
	}
	done := make(chan struct{})
	p.mu.Lock()
	busy := p.ahead.done != nil
	if !busy {
		p.ahead.at, p.ahead.done = at, done
	}
	p.mu.Unlock()
	if busy || !s.run(func(ctx context.Context) { p.runAhead(ctx, at, count, done) }) {
		if !busy {
			p.endAhead(done)
		}
		s.polling.Release(1)
	}
}

func (p *partition) runAhead(ctx context.Context, at int64, count int, done chan struct{}) {
	defer p.store.polling.Release(1)
	defer p.endAhead(done)
	polled, err := p.poll(ctx, iggcon.OffsetPollingStrategy(uint64(at)), uint32(count))
	// Whatever else it may be, the read itself will find out.
	if err == nil && len(polled.Messages) > 0 && offsetOf(&polled.Messages[0]) == at {
		p.sized(polled.Messages, false)
		p.store.cache.addRest(&p.tail, polled, replyCost(polled.Messages), p.store.cfg.CacheBytes)
	}
}

func (p *partition) endAhead(done chan struct{}) {
	p.mu.Lock()
	p.ahead.done = nil
	p.mu.Unlock()
	close(done)
}

// awaitAhead waits for the poll that was made for a read at this offset, if one
// is under way.
func (p *partition) awaitAhead(ctx context.Context, at int64) {
	p.mu.Lock()
	done := p.ahead.done
	if p.ahead.at != at {
		done = nil
	}
	p.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
