package sasl

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/iggykafka/gateway/core/security"
)

const (
	// rememberedSources is of how many addresses failures are remembered. Of more
	// the oldest are forgotten, whose next failure has the shortest delay again.
	rememberedSources = 4096
	// forgetFailures is how long an address is remembered after its last failure.
	forgetFailures = time.Minute
	// suspectAfter is after how many failures an address is a suspect.
	suspectAfter = 3
)

// limiter bounds how many tokens are checked at once, and says how long failures
// are delayed. Who waits for its turn waits behind those of its own address first,
// so that no address holds more than its share of the common queue; there who has begun
// goes first, and of a suspect then the newest ([security.Queue]). Addresses that
// failed again and again lately, and [security.Suspects], are looked at one after the
// other, beside that queue.
type limiter struct {
	perSource   int
	delay, most time.Duration
	all         security.Places
	lane        security.Places // of suspects; one place, which handshakes must not wait for
	others      *security.Suspects

	mu       sync.Mutex
	sources  map[netip.Addr]*source // those with a token in work or in the queue
	failures *simplelru.LRU[netip.Addr, failures]
}

// source is the queue of one address.
type source struct {
	slots *security.Queue
	users int // in work and waiting
}

// failures is how often an address failed lately.
type failures struct {
	count int
	last  time.Time
}

func newLimiter(c Config, others *security.Suspects) *limiter {
	remembered, err := simplelru.NewLRU[netip.Addr, failures](rememberedSources, nil)
	if err != nil {
		panic(err) // the size is a constant above zero
	}
	return &limiter{
		perSource: c.MaxLoginsPerAddress, delay: c.FailureDelay, most: c.MaxFailureDelay,
		all: make(security.Places, c.MaxLogins), lane: make(security.Places, 1), others: others,
		sources: map[netip.Addr]*source{}, failures: remembered,
	}
}

// turn is what a token has while it is looked at.
type turn struct {
	limiter *limiter
	source  netip.Addr
	own     *source
	suspect bool
	began   time.Time
}

// enter waits for the turn of a token from host; leave ends it. One of a login that has
// begun goes first, and so does one of a client that is in: again. The error is that of ctx.
func (l *limiter) enter(ctx context.Context, host string, again bool) (*turn, error) {
	from := security.Source(host)
	own := l.join(from)
	rank := security.Before
	if again {
		rank = security.Begun
	}
	if err := own.slots.Take(ctx, rank); err != nil {
		l.part(from, own)
		return nil, err
	}
	t := &turn{limiter: l, source: from, own: own, suspect: l.suspected(from)}
	if t.suspect {
		if err := l.lane.Take(ctx); err != nil {
			own.slots.Give(t.suspect)
			l.part(from, own)
			return nil, err
		}
	}
	if err := l.all.Take(ctx); err != nil {
		t.done(0)
		return nil, err
	}
	t.began = time.Now()
	return t, nil
}

// leave ends the turn. After a wrong guess of a suspect the others wait a while: so their
// guesses take a sixteenth of a processor, or of one connection to whoever knows the
// passwords, however many suspects there are. Who is no suspect yet, or has been forgotten,
// is not counted in.
func (t *turn) leave(guessed bool) {
	t.limiter.all.Give()
	rest := time.Duration(0)
	if guessed {
		rest = security.SuspectRest(time.Since(t.began))
	}
	t.done(rest)
}

func (t *turn) done(rest time.Duration) {
	l := t.limiter
	switch {
	case t.suspect && rest > 0:
		time.AfterFunc(rest, l.lane.Give)
	case t.suspect:
		l.lane.Give()
	}
	t.own.slots.Give(t.suspect)
	l.part(t.source, t.own)
}

func (l *limiter) join(from netip.Addr) *source {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sources[from]
	if s == nil {
		s = &source{slots: security.NewQueue(l.perSource)}
		l.sources[from] = s
	}
	s.users++
	return s
}

func (l *limiter) part(from netip.Addr, s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.sources, from)
	}
}

// failed remembers a failure of host and returns how long its answer is delayed.
func (l *limiter) failed(host string) time.Duration {
	from, now := security.Source(host), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	f, _ := l.failures.Get(from)
	if now.Sub(f.last) >= forgetFailures {
		f.count = 0
	}
	delay := l.most
	if doubled := l.delay << min(f.count, 16); doubled < l.most { // 2^16 times 1 ms is above longestDelay
		delay = doubled
	}
	l.failures.Add(from, failures{min(f.count+1, 16), now})
	return delay
}

// suspected reports whether a source failed again and again lately, or is known for
// connections that come to nothing.
func (l *limiter) suspected(from netip.Addr) bool {
	if l.delay == 0 { // nobody is to be slowed down
		return false
	}
	l.mu.Lock()
	f, ok := l.failures.Peek(from)
	l.mu.Unlock()
	if ok && f.count >= suspectAfter && time.Since(f.last) < forgetFailures {
		return true
	}
	return l.others != nil && l.others.Has(from)
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
