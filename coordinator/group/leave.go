package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// apply is LeaveGroup. Identities are taken in order against the live group, so
// a repeat finds nobody; however many leave, there is one rebalance. A group that
// is not there refuses each identity and not the request, and is not created.
func (e Leave) apply(g *Group, now time.Time) {
	if g.id == "" {
		g.answerCode(e.Call, coordinator.InvalidGroupID)
		return
	}
	g.tick(now)
	before := len(g.members)
	codes := make([]coordinator.Code, len(e.Identities))
	for i, who := range e.Identities {
		codes[i] = g.leave(who)
	}
	left := len(g.members) < before
	if left && len(g.members) > 0 && g.phase != preparing {
		g.open(now, nil, memberLeft)
	}
	g.advance(now) // in a window: it may have waited for just those
	g.out = append(g.out, Effect{Call: e.Call, Codes: codes})
}

// leave removes one member or pending id:
//
//	no member id, instance id of a member    that member goes
//	no member id otherwise                   UNKNOWN_MEMBER_ID
//	pending member id                        dropped; its instance id is not looked at
//	any other member id                      the usual check, then the member goes
//
// A pending id had no part in the group, so its end is no reason to rebalance
// (in Kafka it is), though a window may have waited for it.
func (g *Group) leave(who coordinator.Identity) coordinator.Code {
	if who.MemberID == "" { // an operator removes a static member (KIP-345)
		m := g.holder(who.InstanceID)
		if m == nil {
			return coordinator.UnknownMemberID
		}
		g.remove(m)
		return coordinator.None
	}
	if _, ok := g.pending[who.MemberID]; ok {
		g.drop(who.MemberID)
		return coordinator.None
	}
	m, code := g.member(who.MemberID, who.InstanceID)
	if code == coordinator.None {
		g.remove(m)
	}
	return code
}
