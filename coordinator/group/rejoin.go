package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// rejoin is the Join of a member. In a window it counts the caller in. Outside
// of one it is either the repeat of a request whose answer was lost, which gets
// the current generation, or a reason to rebalance: changed protocols, or a
// leader that wants to assign anew (KIP-62: that is how a client reacts to
// changed topic metadata).
func (g *Group) rejoin(now time.Time, e Join, m *member) {
	same := equalProtocols(m.protocols, e.Request.Protocols)
	switch {
	case g.phase == preparing:
		g.change(m, func() { m.take(g.cfg, e.Request) })
		g.enter(now, e, m)
	case same && (g.phase == completing || m != g.leader):
		g.refresh(m, now)
		g.answerJoin(e.Call, g.joinResult(m))
	default:
		why := protocolsChanged
		if same {
			why = leaderRejoined
		}
		g.change(m, func() { m.take(g.cfg, e.Request) })
		g.open(now, m, why)
		g.enter(now, e, m)
	}
}

// joinResult is the answer to a member of the current generation. Only the leader
// gets the list: it can be large, and only one member needs it.
func (g *Group) joinResult(m *member) coordinator.JoinResult {
	r := coordinator.JoinResult{
		Generation:   g.generation,
		ProtocolType: g.protocolType,
		Protocol:     g.protocol,
		LeaderID:     g.leader.id,
		MemberID:     m.id,
	}
	if m == g.leader {
		r.Members = g.list()
	}
	return r
}

// list is what the leader gets: every member with its metadata for the selected
// protocol.
func (g *Group) list() []coordinator.JoinedMember {
	out := make([]coordinator.JoinedMember, len(g.members))
	for i, m := range g.members {
		out[i] = coordinator.JoinedMember{MemberID: m.id, InstanceID: m.instance, Metadata: m.metadata(g.protocol)}
	}
	return out
}
