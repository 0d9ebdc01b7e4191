package group

import (
	"strings"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// handOut sends a dynamic newcomer away with an id to join again with
// (KIP-394). A client whose first answer is lost then costs a pending id, not a
// member that everybody waits for.
func (g *Group) handOut(now time.Time, e Join) {
	if g.pending == nil {
		g.pending = make(map[string]time.Time)
	}
	expiry := now.Add(e.Request.SessionTimeout)
	g.pending[e.NewID] = expiry
	g.bytes += pendingSize(e.NewID)
	g.watch(expiry)
	g.answerJoin(e.Call, coordinator.JoinResult{Code: coordinator.MemberIDRequired, MemberID: e.NewID})
}

// claim admits the owner of a pending id. The id has been valid for the session
// timeout it was asked with, whatever happened in the group meanwhile: a join
// window that ended without it does not void it.
func (g *Group) claim(now time.Time, e Join) {
	g.drop(e.Request.MemberID)
	g.admit(now, e, e.Request.MemberID)
}

// drop forgets a pending id.
func (g *Group) drop(id string) {
	delete(g.pending, id)
	g.bytes -= pendingSize(id)
}

// admit makes the caller a member and parks it. Outside of a rebalance it opens
// one, with only the newcomer joined: the others learn of it from a heartbeat.
func (g *Group) admit(now time.Time, e Join, id string) {
	r := e.Request
	// The client id is a label and not an identity: two clients of one name are
	// two members. It is shown to operators only when the configuration says so.
	m := &member{
		id:     id,
		joinBy: now.Add(g.cfg.NewMemberJoinTimeout),
		untold: r.MemberID == "" && r.InstanceID == nil,
	}
	if r.InstanceID != nil {
		instance := strings.Clone(*r.InstanceID)
		m.instance = &instance
	}
	if g.cfg.RetainClientIdentity == coordinator.On {
		m.clientID, m.clientHost = r.ClientID, r.ClientHost
	}
	m.take(g.cfg, r)
	if len(g.members) == 0 {
		g.protocolType = r.ProtocolType
		g.leader, g.since = m, never
	}
	g.insert(m)
	g.watch(m.joinBy)
	switch {
	case g.phase != preparing:
		g.open(now, m, memberJoined)
	case g.initial && g.joinDeadline.IsZero(): // the first of the group
		g.start, g.joinDeadline, g.reason = now, now.Add(g.cfg.InitialRebalanceDelay), firstMember
	case g.initial: // prolongs the delay, when that ends
		g.admitted = true
	}
	g.enter(now, e, m)
}

// enter parks a Join in the window that is open, which its coming may close.
func (g *Group) enter(now time.Time, e Join, m *member) {
	g.setJoined(m, true)
	g.parkJoin(m, e.Call)
	g.advance(now)
}
