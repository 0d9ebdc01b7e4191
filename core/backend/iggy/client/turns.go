package client

import (
	"context"
	"slices"
)

// turns lets connections be made one at a time in the whole pool: a login keeps a
// shard of the server from its work, and every attempt that a silent server has
// not got to yet is one that it will make when it wakes up. Client.mu guards it.
type turns struct {
	taken   bool
	waiting []*turn
}

type turn struct {
	lane  *lane
	given chan struct{}
}

// take waits for the turn to make a connection of the lane.
func (c *Client) take(ctx context.Context, l *lane) error {
	c.mu.Lock()
	if !c.turns.taken {
		c.turns.taken = true
		c.mu.Unlock()
		return nil
	}
	t := &turn{lane: l, given: make(chan struct{})}
	c.turns.waiting = append(c.turns.waiting, t)
	c.mu.Unlock()
	select {
	case <-t.given:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.turns.waiting, t); i >= 0 {
		c.turns.waiting = slices.Delete(c.turns.waiting, i, i+1)
	} else {
		c.pass()
	}
	return ctx.Err()
}

// give ends a turn.
func (c *Client) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
}

// pass gives the next turn to the lane that has the fewest connections, so that
// every kind of request has one soon; mu is held.
func (c *Client) pass() {
	c.turns.taken = len(c.turns.waiting) > 0
	if !c.turns.taken {
		return
	}
	next := slices.MinFunc(c.turns.waiting, func(a, b *turn) int { return a.lane.up - b.lane.up })
	c.turns.waiting = slices.DeleteFunc(c.turns.waiting, func(t *turn) bool { return t == next })
	close(next.given)
}
