package client

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// attempts is how often a request is given to a connection that turns out to be
// gone before anything has left.
const attempts = 3

var (
	errAway       = errors.New("no connection to the Iggy server")
	errOverloaded = errors.New("all connections to the Iggy server are busy")
)

// lane is the connections for one kind of request.
type lane struct {
	name  string
	conns []*conn
	// up counts those that are logged in; Client.mu guards it.
	up int
	// busy counts those that have a request on its way.
	busy atomic.Int32
	// gate is closed over a channel while requests are admitted; nil while not.
	gate atomic.Pointer[gate]
	seed maphash.Seed
}

// gate is open until shut is closed.
type gate struct{ shut chan struct{} }

// newLane makes n places. With one queue any of them takes the next request;
// otherwise each has its own.
func newLane(c *Client, name string, n int, oneQueue bool) *lane {
	l := &lane{name: name, seed: maphash.MakeSeed()}
	queue := make(chan *request)
	for range n {
		if !oneQueue {
			queue = make(chan *request)
		}
		l.conns = append(l.conns, &conn{client: c, lane: l, requests: queue})
	}
	return l
}

// set opens or shuts the gate; Client.mu is held.
func (l *lane) set(open bool) {
	if g := l.gate.Load(); g != nil && !open {
		l.gate.Store(nil)
		close(g.shut)
	} else if g == nil && open {
		l.gate.Store(&gate{shut: make(chan struct{})})
	}
}

// any returns the queue that all connections take from.
func (l *lane) any() chan<- *request { return l.conns[0].requests }

// of returns the queue of the connection that writes to a partition.
func (l *lane) of(t Topic, partition uint32) chan<- *request {
	key := struct {
		Topic
		partition uint32
	}{t, partition}
	return l.conns[maphash.Comparable(l.seed, key)%uint64(len(l.conns))].requests
}

// call has the request made by a connection that takes from the queue. make is
// called for every attempt.
func (l *lane) call(ctx context.Context, queue chan<- *request, wait time.Duration, make func() *request) error {
	for attempt := 1; ; attempt++ {
		err := l.once(ctx, queue, wait, make())
		var unsent *notSent
		if attempt == attempts || !errors.As(err, &unsent) {
			return err
		}
	}
}

func (l *lane) once(ctx context.Context, queue chan<- *request, wait time.Duration, r *request) error {
	g := l.gate.Load()
	if g == nil {
		return unavailable(errAway)
	}
	select {
	case queue <- r:
	default:
		if err := hand(ctx, g, queue, wait, r); err != nil {
			return err
		}
	}
	if r.changes {
		return <-r.done
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hand waits for a connection that has time.
func hand(ctx context.Context, g *gate, queue chan<- *request, wait time.Duration, r *request) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case queue <- r:
		return nil
	case <-g.shut:
		return unavailable(errAway)
	case <-t.C:
		return unavailable(errOverloaded)
	case <-ctx.Done():
		return ctx.Err()
	}
}
