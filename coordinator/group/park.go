package group

import (
	"slices"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// A parked call holds nothing but its number: it is answered when its member
// is. Several calls may be parked for one member (a client that repeats a
// request on a new connection); all get the member's answer. Kafka never
// answers the earlier ones.

func (g *Group) parkJoin(m *member, c Call) {
	m.joins = append(m.joins, c)
	g.park(m, c)
}

func (g *Group) parkSync(m *member, c Call) {
	m.syncs = append(m.syncs, c)
	g.park(m, c)
}

func (g *Group) park(m *member, c Call) {
	if g.calls == nil {
		g.calls = make(map[Call]*member)
	}
	g.calls[c] = m
}

// releaseJoins answers the parked Joins of a member.
func (g *Group) releaseJoins(m *member, r coordinator.JoinResult) {
	for _, c := range m.joins {
		delete(g.calls, c)
		g.answerJoin(c, r)
	}
	m.joins = nil
	m.untold = false
}

// releaseSyncs answers the parked Syncs of a member.
func (g *Group) releaseSyncs(m *member, r coordinator.SyncResult) {
	for _, c := range m.syncs {
		delete(g.calls, c)
		g.answerSync(c, r)
	}
	m.syncs = nil
}

// release refuses whatever is parked for a member. The answer to a Join names
// the id that was asked for, except to a member that was removed.
func (g *Group) release(m *member, code coordinator.Code) {
	refusal := coordinator.JoinResult{Code: code}
	if code != coordinator.UnknownMemberID {
		refusal.MemberID = m.id
	}
	g.releaseJoins(m, refusal)
	g.releaseSyncs(m, coordinator.SyncResult{Code: code})
}

// apply takes a call out whose asker went away. The member stays, and stays
// joined, so that the others do not wait longer; its session runs from now on.
// A newcomer that nobody knows the id of could not even leave: it is removed.
func (e Disconnect) apply(g *Group, now time.Time) {
	g.tick(now)
	m := g.calls[e.Call]
	if m == nil {
		return
	}
	delete(g.calls, e.Call)
	isIt := func(c Call) bool { return c == e.Call }
	m.joins = slices.DeleteFunc(m.joins, isIt)
	m.syncs = slices.DeleteFunc(m.syncs, isIt)
	if m.parked() {
		return
	}
	if m.untold {
		g.remove(m)
		g.advance(now)
		return
	}
	g.refresh(m, now)
}
