package security

import (
	"context"
	"runtime"
)

// Places bound how many are at something at once, by the room in the channel: make(Places, 2). They are safe for concurrent use.
type Places chan struct{}

// Take waits for a place, in the order of arrival. The error is that of ctx, which ended before; else Give has to follow.
func (p Places) Take(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select may not look at it
		return err
	}
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give gives a place back.
func (p Places) Give() { <-p }

// Turns are places at the processors for what costs them long and strangers can ask for without an end: handshakes of TLS, checks
// of passwords. All of that together gets no more than there are places, so that clients which are in keep the rest. Who has to wait
// for something else should not have a place meanwhile. It is safe for concurrent use.
type Turns struct {
	Places
	// Suspects are who has to wait in a lane of their own first.
	Suspects *Suspects
}

// NewTurns has places for half of the goroutines that may run at once.
func NewTurns() *Turns { return TurnsOf(max(1, runtime.GOMAXPROCS(0)/2)) }

// TurnsOf has that many places.
func TurnsOf(places int) *Turns {
	return &Turns{Places: make(Places, places), Suspects: newSuspects(places)}
}

// Most is how many places there are.
func (t *Turns) Most() int { return cap(t.Places) }

// Taken is how many of them are taken.
func (t *Turns) Taken() int { return len(t.Places) }
