package group

import (
	"time"
)

// tick expires what has passed. It runs before every event and, while calls are
// parked, at every deadline; a group that nobody names and nobody waits for is
// left alone.
func (g *Group) tick(now time.Time) {
	if passed(g.due, now) {
		g.expire(now)
	}
	g.advance(now)
}

// expire drops pending ids and members whose time is over, and makes due exact
// again.
func (g *Group) expire(now time.Time) {
	for id, expiry := range g.pending {
		if passed(expiry, now) {
			g.drop(id)
		}
	}
	removed := g.removeWhere(func(m *member) bool { return m.expired(now) })
	if removed > 0 && len(g.members) > 0 && g.phase != preparing {
		g.open(now, nil)
	}
	g.due = time.Time{}
	for _, expiry := range g.pending {
		g.watch(expiry)
	}
	for _, m := range g.members {
		g.watch(m.expiry())
	}
}
