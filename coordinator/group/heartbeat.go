package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// apply is Heartbeat. The generation is checked in every phase, and before the
// word that a rebalance is going on: a member that missed a generation has to
// give up its partitions first. Refusals do not keep a session; being told to
// join again does, so that a member has its session timeout to act on it.
func (e Heartbeat) apply(g *Group, now time.Time) {
	r := e.Request
	if g.id == "" {
		g.answerCode(e.Call, coordinator.InvalidGroupID)
		return
	}
	g.tick(now)
	m, code := g.member(r.MemberID, r.InstanceID)
	switch {
	case code != coordinator.None:
	case r.Generation != g.generation:
		code = coordinator.IllegalGeneration
	default:
		g.refresh(m, now)
		if g.phase == preparing {
			code = coordinator.RebalanceInProgress
		}
	}
	g.answerCode(e.Call, code)
}

// apply checks whether an offset may be committed. Without members anybody may
// commit from outside (generation −1), as admin tools do. A member may while a
// rebalance is being prepared, because that is when it gives up its partitions,
// but not once the next generation has begun.
//
// Kafka keeps groups over a restart; where groups are not kept, every running
// consumer meets the row without members after one. UNKNOWN_MEMBER_ID makes it
// join again, where Kafka's ILLEGAL_GENERATION or GROUP_ID_NOT_FOUND would end it.
// Where they are, a group that is not there was removed, and the answer is Kafka's
// ILLEGAL_GENERATION (from v9 on GROUP_ID_NOT_FOUND; the version is not known here).
func (e CheckCommit) apply(g *Group, now time.Time) {
	g.tick(now)
	g.answerCode(e.Call, g.checkCommit(now, e.Request))
}

func (g *Group) checkCommit(now time.Time, r coordinator.HeartbeatRequest) coordinator.Code {
	if len(g.members) == 0 {
		switch {
		case r.Generation < 0:
			return g.outside(now)
		case g.keep && g.Empty():
			return coordinator.IllegalGeneration
		}
		return coordinator.UnknownMemberID
	}
	if r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil {
		return coordinator.UnknownMemberID
	}
	m, code := g.member(r.MemberID, r.InstanceID)
	switch {
	case code != coordinator.None:
		return code
	case r.Generation != g.generation:
		return coordinator.IllegalGeneration
	case g.phase == completing:
		return coordinator.RebalanceInProgress
	}
	g.refresh(m, now)
	return coordinator.None
}
