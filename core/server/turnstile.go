package server

import (
	"context"
	"runtime"
)

// Agreeing on a transport costs the processor far more than most requests do: a
// millisecond for a signature by RSA. So only some may compute at once, and clients
// that are past it keep the rest of the processors. Whoever waits for its client
// does not count. An address has one place in the queue for each of its turns, so
// that it gets no more of them by connecting more often.

// computing is how many connections may compute their transport at once, and how
// many of these may be of one address.
func computing() (all, each int) {
	all = max(1, runtime.GOMAXPROCS(0)/2)
	return all, max(1, all/2)
}

// turnstile lets one connection compute in its turn.
type turnstile struct {
	ctx      context.Context
	own, all chan struct{} // the places of the address, and of all
	inside   bool
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
	select {
	case t.all <- struct{}{}:
	case <-t.ctx.Done():
		<-t.own
		return t.ctx.Err()
	}
	t.inside = true
	return nil
}

// leave ends the turn, if there is one.
func (t *turnstile) leave() {
	if t.inside {
		t.inside = false
		<-t.all
		<-t.own
	}
}
