package group

import (
	"time"
)

// tick expires what has passed: first ids and members, then windows. It runs
// before every event and, while calls are parked, at every deadline. A group that
// nobody names and nobody waits for is left alone: its members may all be dead,
// and it stays in lists until somebody asks.
//
// So time is only ever seen through requests. Whoever comes late finds what has
// passed as passed: a heartbeat after the session's end finds no member, whether
// or not a tick came between.
func (g *Group) tick(now time.Time) {
	if passed(g.due, now) {
		g.expire(now)
	}
	g.advance(now)
}

// expire drops pending ids and members whose time is over, and makes due exact
// again. A window that is open already goes on without them; a generation that
// has lost members is over.
func (g *Group) expire(now time.Time) {
	for id, expiry := range g.pending {
		if passed(expiry, now) {
			g.drop(id)
		}
	}
	removed := g.removeWhere(func(m *member) bool { return m.expired(now) })
	if removed > 0 && len(g.members) > 0 && g.phase != preparing {
		g.open(now, nil, memberExpired)
	}
	g.due = time.Time{}
	for _, expiry := range g.pending {
		g.watch(expiry)
	}
	for _, m := range g.members {
		g.watch(m.expiry())
	}
}
