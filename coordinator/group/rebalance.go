package group

import (
	"math"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// open begins a rebalance: a window in which all members have to join again. The
// caller, who may be nil, is about to. It lasts for the longest rebalance timeout
// of the members, however the list changes meanwhile.
//
// A generation that is interrupted before its leader has synced never gets its
// assignments: who waits for one is sent to join again. One that was stable keeps
// showing them until the next join completes.
func (g *Group) open(now time.Time, caller *member, why reason) {
	interrupted := g.phase == completing
	g.phase, g.start, g.reason = preparing, now, why
	g.joinDeadline, g.syncDeadline = now.Add(g.longest()), time.Time{}
	for _, m := range g.members {
		g.setJoined(m, m == caller)
		if !interrupted {
			continue
		}
		g.assign(m, nil)
		if m.parked() {
			g.refresh(m, now)
			g.releaseSyncs(m, coordinator.SyncResult{Code: coordinator.RebalanceInProgress})
		}
	}
}

// advance moves the group on where it may. It is called after everything that
// could let it: when time has passed, and when somebody has joined or left.
//
//	preparing, all have joined, nobody pending    complete
//	preparing, first generation, delay over       prolong the delay, or complete
//	preparing, window over                        complete without who is missing
//	completing, stable, sync window over          rebalance without who is missing
//
// In a group's first generation the delay is not cut short by all having joined:
// it is there for members that nobody knows of yet.
func (g *Group) advance(now time.Time) {
	switch {
	case len(g.members) == 0:
	case g.phase != preparing:
		if passed(g.syncDeadline, now) {
			g.endSync(now)
		}
	case !g.initial && g.joined == len(g.members) && len(g.pending) == 0:
		g.complete(now)
	case !passed(g.joinDeadline, now):
	case g.initial:
		g.endDelay(now)
	default:
		g.endWindow(now)
	}
}

// endDelay ends the initial delay (KIP-134), or prolongs it because somebody
// came in it, up to the longest rebalance timeout from the start. The next delay
// follows the last one without a gap, however late this is noticed.
func (g *Group) endDelay(now time.Time) {
	left := g.start.Add(g.longest()).Sub(g.joinDeadline)
	if !g.admitted || left <= 0 {
		g.complete(now)
		return
	}
	g.admitted = false
	g.joinDeadline = g.joinDeadline.Add(min(g.cfg.InitialRebalanceDelay, left))
	g.advance(now)
}

// endWindow goes on without those that did not join. Dynamic members lose their
// place; static ones keep it until their session or the sync deadline ends it.
func (g *Group) endWindow(now time.Time) {
	g.removeWhere(func(m *member) bool { return !m.joined && m.instance == nil })
	switch {
	case len(g.members) == 0:
	case g.joined == 0: // only silent static members: there is nobody to lead
		g.start, g.joinDeadline = now, now.Add(g.longest())
	default:
		g.complete(now)
	}
}

// endSync removes whoever joined and then did not come for its assignment, static
// or not, even if it heartbeats: partitions are assigned to it and not consumed.
// When it is the leader that does not come, this is what frees the others.
func (g *Group) endSync(now time.Time) {
	g.syncDeadline = time.Time{}
	removed := g.removeWhere(func(m *member) bool { return !m.synced })
	if removed > 0 && len(g.members) > 0 {
		g.open(now, nil, syncMissed)
	}
}

// complete ends a join window with a new generation, and answers all who joined:
// the leader with the list of members, which it needs to assign, and the others
// with an empty one. Every session starts again, also that of a static member
// that did not join: it has until then, or until the sync deadline.
func (g *Group) complete(now time.Time) {
	g.elect()
	g.generation = following(g.generation)
	g.selectProtocol(g.winner())
	g.remember(now)
	g.spoil(Generation)
	g.phase, g.initial, g.admitted = completing, false, false
	g.start, g.joinDeadline = time.Time{}, time.Time{}
	g.syncDeadline = now.Add(g.longest())
	for _, m := range g.members {
		g.assign(m, nil)
		m.synced = false
		if m.joined {
			m.joinBy = time.Time{}
		}
		g.refresh(m, now)
		if len(m.joins) > 0 {
			g.releaseJoins(m, g.joinResult(m))
		}
	}
}

// elect keeps the leader if it joined, else takes the smallest member id that
// did (Kafka takes any). A leader that comes and goes would make clients compute
// assignments with different local knowledge from one generation to the next.
func (g *Group) elect() {
	if g.leader.joined {
		return
	}
	for _, m := range g.members {
		if m.joined {
			g.leader = m
			return
		}
	}
}

// following returns the generation after one. It is never 0 again, which means
// that no join has completed.
func following(generation int32) int32 {
	if generation == math.MaxInt32 {
		return 1
	}
	return generation + 1
}
