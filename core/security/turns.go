package security

import (
	"context"
	"runtime"
)

// Turns are places at the processors for what costs them long and strangers can ask for without an end: handshakes of TLS, checks
// of passwords. All of that together gets no more than there are places, so that clients which are in keep the rest. It is safe for
// concurrent use.
type Turns struct {
	places chan struct{}
	// Suspects are who has to wait in a lane of their own first.
	Suspects *Suspects
}

// NewTurns has places for half of the goroutines that may run at once.
func NewTurns() *Turns { return TurnsOf(max(1, runtime.GOMAXPROCS(0)/2)) }

// TurnsOf has that many places.
func TurnsOf(places int) *Turns {
	return &Turns{places: make(chan struct{}, places), Suspects: newSuspects(places)}
}

// Most is how many places there are.
func (t *Turns) Most() int { return cap(t.places) }

// Taken is how many of them are taken.
func (t *Turns) Taken() int { return len(t.places) }

// Take waits for a place, in the order of arrival. The error is that of ctx, which ended before; else Give has to follow. Who has
// to wait for something else should not have a place meanwhile.
func (t *Turns) Take(ctx context.Context) error { return take(ctx, t.places) }

// Give gives a place back.
func (t *Turns) Give() { <-t.places }

func take(ctx context.Context, places chan struct{}) error {
	if err := ctx.Err(); err != nil { // select may not look at it
		return err
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
