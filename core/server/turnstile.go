package server

import (
	"context"

	"github.com/iggykafka/gateway/core/security"
)

// Agreeing on a transport costs the processor far more than most requests do: a
// millisecond for a signature by RSA. So only some may compute at once, and clients
// that are past it keep the rest of the processors. Whoever waits for its client
// does not count. An address has one place in the queue for each of its turns, so
// that it gets no more of them by connecting more often.

// computingEach is how many of the connections that compute their transport at once
// may be of one address.
func computingEach(all *security.Turns) int { return max(1, all.Most()/2) }

// turnstile lets one connection compute in its turn.
type turnstile struct {
	ctx    context.Context
	own    chan struct{} // the places of the address
	all    *security.Turns
	inside bool
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
	if err := t.all.Take(t.ctx); err != nil {
		<-t.own
		return err
	}
	t.inside = true
	return nil
}

// leave ends the turn, if there is one.
func (t *turnstile) leave() {
	if t.inside {
		t.inside = false
		t.all.Give()
		<-t.own
	}
}
