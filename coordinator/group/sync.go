package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// apply is SyncGroup. The leader hands in the assignments, the others wait for
// theirs. The checks, in order:
//
//	group id empty                                INVALID_GROUP_ID
//	the membership check; absent group            UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
//	another generation                            ILLEGAL_GENERATION
//	another protocol type or name (KIP-559)       INCONSISTENT_GROUP_PROTOCOL
//	an assignment over max_member_bytes           INVALID_REQUEST
//	a rebalance is being prepared                 REBALANCE_IN_PROGRESS
//
// Only the list that a leader sends while the group waits for it counts. Whoever
// syncs later, the leader too, gets what is stored.
func (e Sync) apply(g *Group, now time.Time) {
	r := e.Request
	refuse := func(code coordinator.Code) { g.answerSync(e.Call, coordinator.SyncResult{Code: code}) }
	if g.id == "" {
		refuse(coordinator.InvalidGroupID)
		return
	}
	g.tick(now)
	m, code := g.member(r.MemberID, r.InstanceID)
	switch {
	case code != coordinator.None:
		refuse(code)
	case r.Generation != g.generation:
		refuse(coordinator.IllegalGeneration)
	case r.ProtocolType != nil && *r.ProtocolType != g.protocolType, r.Protocol != nil && *r.Protocol != g.protocol: // KIP-559
		refuse(coordinator.InconsistentGroupProtocol)
	case slices.ContainsFunc(r.Assignments, func(a coordinator.Assignment) bool { return len(a.Data) > g.cfg.MaxMemberBytes }):
		refuse(coordinator.InvalidRequest)
	case g.phase == preparing:
		g.refresh(m, now)
		refuse(coordinator.RebalanceInProgress)
	case g.phase == completing && m == g.leader:
		g.lead(now, e)
	case g.phase == completing:
		m.synced = true
		g.parkSync(m, e.Call)
	default:
		m.synced = true
		g.refresh(m, now)
		g.answerSync(e.Call, g.syncResult(m))
	}
}

// lead takes the leader's assignments and answers everybody who waits. Who was
// left out gets empty bytes, as a group may have more members than partitions;
// assignments to unknown ids are ignored; of several to one id the last counts.
// The sessions of all start again: the followers have waited for this.
//
// Without room for the bytes nothing changes, and the leader may send them again
// until the sync deadline. So it is when there are too many of them to be saved.
func (g *Group) lead(now time.Time, e Sync) {
	data := make(map[string][]byte, len(e.Request.Assignments))
	for _, a := range e.Request.Assignments {
		data[a.MemberID] = a.Data
	}
	var size int64 // nothing is stored yet: join completion cleared it
	for _, m := range g.members {
		size += int64(len(data[m.id]))
	}
	if !g.holdsAssignments(size) {
		g.answerSync(e.Call, coordinator.SyncResult{Code: coordinator.InvalidRequest})
		return
	}
	if size > 0 && size > e.Room.Bytes {
		g.answerSync(e.Call, coordinator.SyncResult{Code: coordinator.CoordinatorNotAvailable})
		return
	}
	g.phase = stable
	g.spoil(Generation)
	g.leader.synced = true
	for _, m := range g.members {
		g.assign(m, bytes.Clone(data[m.id]))
		g.refresh(m, now)
		g.releaseSyncs(m, g.syncResult(m))
	}
	g.answerSync(e.Call, g.syncResult(g.leader))
}

// syncResult is the answer to a member that may have its assignment.
func (g *Group) syncResult(m *member) coordinator.SyncResult {
	return coordinator.SyncResult{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
}
