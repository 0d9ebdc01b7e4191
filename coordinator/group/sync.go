package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// apply is SyncGroup. The leader hands in the assignments, the others wait for
// theirs.
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

// lead takes the leader's assignments and answers everybody. Who was left out
// gets empty bytes: a group may have more members than partitions. Assignments
// to unknown ids are ignored.
func (g *Group) lead(now time.Time, e Sync) {
	data := make(map[string][]byte, len(e.Request.Assignments))
	for _, a := range e.Request.Assignments {
		data[a.MemberID] = a.Data
	}
	var size int64 // nothing is stored yet: join completion cleared it
	for _, m := range g.members {
		size += int64(len(data[m.id]))
	}
	if size > 0 && size > e.Room.Bytes {
		g.answerSync(e.Call, coordinator.SyncResult{Code: coordinator.CoordinatorNotAvailable})
		return
	}
	g.phase = stable
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
