package server

import (
	"context"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

// Agreeing on a transport costs the processor far more than most requests do: a
// millisecond for a signature by RSA. So only some may compute at once, and clients
// that are past it keep the rest of the processors. Whoever waits for its client
// does not count. An address has one place in the queue for each of its turns, so
// that it gets no more of them by connecting more often; and one that connects only
// to leave again takes its turns in the lane of suspects.

// computingEach is how many of the connections that compute their transport at once
// may be of one address.
func computingEach(all *security.Turns) int { return max(1, all.Most()/2) }

// turnstile lets one connection compute in its turn.
type turnstile struct {
	ctx     context.Context
	own     chan struct{} // the places of the address
	all     *security.Turns
	first   func()      // called at the first turn
	suspect func() bool // whether the address is one
	inside  bool
	inLane  bool // of suspects
	used    bool // once at least
	began   time.Time
}

// enter waits for a turn, in the order of arrival.
func (t *turnstile) enter() error {
	if t.inside {
		return nil
	}
	select {
	case t.own <- struct{}{}:
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
	if t.inLane = t.suspect(); t.inLane {
		if err := t.all.Suspects.Take(t.ctx); err != nil {
			<-t.own
			return err
		}
	}
	if err := t.all.Take(t.ctx); err != nil {
		t.giveLane(0)
		<-t.own
		return err
	}
	if !t.used {
		t.first()
	}
	t.inside, t.used, t.began = true, true, time.Now()
	return nil
}

// leave ends the turn, if there is one.
func (t *turnstile) leave() {
	if !t.inside {
		return
	}
	t.inside = false
	t.all.Give()
	t.giveLane(time.Since(t.began))
	<-t.own
}

func (t *turnstile) giveLane(used time.Duration) {
	if t.inLane {
		t.all.Suspects.Give(used)
	}
}
