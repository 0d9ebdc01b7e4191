package server

import (
	"context"
	"net"
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
	own     *security.Queue // of the address
	all     *security.Turns
	opening *security.Opening
	suspect func() bool // whether the address is one
	gone    func() bool // whether the client has left
	inside  bool
	inLane  bool // of suspects
	turns   int  // so far
	began   time.Time
}

// enter waits for a turn.
func (t *turnstile) enter() error {
	if t.inside {
		return nil
	}
	t.opening.Works()
	if err := t.own.Take(t.ctx, t.rank()); err != nil {
		return err
	}
	if err := t.advance(); err != nil {
		t.own.Give(t.inLane)
		return err
	}
	t.inside, t.began = true, time.Now()
	t.turns++
	return nil
}

// often is after how many turns a client goes last of its address. A handshake takes two or
// three, and some more where a long chain comes in pieces; one that sends byte by byte has one
// for each, and would go before all newcomers for as long as it likes.
const often = 16

func (t *turnstile) rank() security.Rank {
	switch {
	case t.turns == 0:
		return security.Before
	case t.turns < often:
		return security.Begun
	}
	return security.Often
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
	t.own.Give(t.inLane)
}

func (t *turnstile) giveLane(used time.Duration) {
	if t.inLane {
		t.all.Suspects.Give(used)
	}
}
