package server

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

// Agreeing on a transport costs the processor far more than most requests do: a
// millisecond for a signature by RSA. So only some may compute at once, and clients
// that are past it keep the rest of the processors. Whoever waits for its client
// does not count. An address has one place in the queue for each of its turns, so
// that it gets no more of them by connecting more often; its connections wait for these
// places among themselves. One that connects only to leave again takes its turns in the
// lane of suspects. Who has left already when its turn comes costs none.

// computingEach is how many of the connections that compute their transport at once
// may be of one address.
func computingEach(all *security.Turns) int { return max(1, all.Most()/2) }

// turnstile lets one connection compute in its turn.
type turnstile struct {
	ctx     context.Context
	own     *queue // of the address
	all     *security.Turns
	opening *security.Opening
	suspect func() bool // whether the address is one
	gone    func() bool // whether the client has left
	inside  bool
	inLane  bool // of suspects
	used    bool // once at least
	began   time.Time
}

// enter waits for a turn.
func (t *turnstile) enter() error {
	if t.inside {
		return nil
	}
	t.opening.Works()
	if err := t.own.take(t.ctx, t.used); err != nil {
		return err
	}
	if err := t.advance(); err != nil {
		t.own.give(t.inLane)
		return err
	}
	t.inside, t.used, t.began = true, true, time.Now()
	return nil
}

// advance waits behind those of other addresses.
func (t *turnstile) advance() error {
	if t.gone() {
		return net.ErrClosed
	}
	if t.inLane = t.suspect(); t.inLane {
		if err := t.all.Suspects.Take(t.ctx); err != nil {
			return err
		}
	}
	err := t.all.Take(t.ctx)
	if err == nil && t.gone() {
		t.all.Give()
		err = net.ErrClosed
	}
	if err != nil {
		t.giveLane(0)
	}
	return err
}

// leave ends the turn, if there is one.
func (t *turnstile) leave() {
	if !t.inside {
		return
	}
	t.inside = false
	t.opening.Waits()
	t.all.Give()
	t.giveLane(time.Since(t.began))
	t.own.give(t.inLane)
}

func (t *turnstile) giveLane(used time.Duration) {
	if t.inLane {
		t.all.Suspects.Give(used)
	}
}

// queue is where the connections of one address wait for its places. It is safe for
// concurrent use.
type queue struct {
	mu            sync.Mutex
	places        int             // free
	again, before []chan struct{} // who had a turn already, and who had none; in order of arrival
}

func newQueue(places int) *queue { return &queue{places: places} }

// take waits for a place. The error is that of ctx, which ended before.
func (q *queue) take(ctx context.Context, again bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.places > 0 {
		q.places--
		q.mu.Unlock()
		return nil
	}
	mine, line := make(chan struct{}), &q.before
	if again {
		line = &q.again
	}
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

// give gives a place to the next. Of a suspect that is the newest: its queue may be longer
// than anybody waits, and in the order of arrival every place would go to who gives up, those
// behind it who meant no harm among them.
func (q *queue) give(newest bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := &q.again
	if len(*line) == 0 {
		line = &q.before
	}
	n := len(*line)
	if n == 0 {
		q.places++
		return
	}
	at := 0
	if newest {
		at = n - 1
	}
	close((*line)[at])
	*line = slices.Delete(*line, at, at+1)
}
