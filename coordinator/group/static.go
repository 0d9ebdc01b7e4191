package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// replace is the Join of a static member that was restarted: it names its
// instance id and no member id (KIP-345). The member goes on under a new id, in
// the same place, with its assignment and its leadership; whoever still uses
// the old id is fenced.
func (g *Group) replace(now time.Time, e Join, m *member) {
	before := g.leader.id
	g.release(m, coordinator.FencedInstanceID)
	g.change(m, func() {
		g.rename(m, e.NewID)
		m.take(g.cfg, e.Request)
	})
	switch {
	case g.phase == preparing:
		g.enter(now, e, m)
	case g.phase == stable && g.winner() == g.protocol:
		// A bounce within the session: nobody else notices.
		g.refresh(m, now)
		g.spoil(Changed)
		g.answerJoin(e.Call, g.bounced(m, before, e.Request.CanSkipAssignment))
	default:
		// In completing the leader may already be assigning to the old id.
		g.open(now, m, memberReplaced)
		g.enter(now, e, m)
	}
}

// bounced is the answer to a replacement that changes nothing. A leader must not
// assign anew, as nobody would collect it. It is told so where the version has
// a field for it (KIP-814: v9); elsewhere it is not told that it is the leader.
func (g *Group) bounced(m *member, before string, canSkip bool) coordinator.JoinResult {
	r := g.joinResult(m)
	if canSkip {
		r.SkipAssignment = m == g.leader
		return r
	}
	r.LeaderID, r.Members = before, nil
	return r
}
