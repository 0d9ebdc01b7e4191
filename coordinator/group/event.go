package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// Call numbers a call that waits for an answer. The caller of Step chooses it.
type Call uint64

// Event is something that happens to a group: one of the types below.
type Event interface {
	apply(g *Group, now time.Time)
}

// Join is JoinGroup. It may be parked.
type Join struct {
	Call    Call
	Request coordinator.JoinRequest
	// NewID is the member id that the caller gets if it needs one; see
	// [MemberID]. It may be empty when the request names a member id.
	NewID string
	// Room is what the group may grow by. See [Join.Cost].
	Room Usage
}

// Sync is SyncGroup. It may be parked.
type Sync struct {
	Call    Call
	Request coordinator.SyncRequest
	Room    Usage // see [Sync.Cost]
}

// Heartbeat is Heartbeat.
type Heartbeat struct {
	Call    Call
	Request coordinator.HeartbeatRequest
}

// CheckCommit is the group check of OffsetCommit.
type CheckCommit struct {
	Call    Call
	Request coordinator.HeartbeatRequest
}

// Leave is LeaveGroup.
type Leave struct {
	Call       Call
	Identities []coordinator.Identity
}

// Disconnect says that nobody waits any more for the answer to Call. It is not
// answered itself. A call that is not parked is ignored; one that a deadline
// answers in the same step is answered.
type Disconnect struct {
	Call Call
}

// Effect is an answer to one call. Which field holds it depends on the event
// that the call came with.
type Effect struct {
	Call  Call
	Join  coordinator.JoinResult // Join
	Sync  coordinator.SyncResult // Sync
	Code  coordinator.Code       // Heartbeat, CheckCommit; of the whole Leave
	Codes []coordinator.Code     // Leave: one for each identity
}

// Step applies an event at a time. It first expires what has passed by then.
func (g *Group) Step(now time.Time, e Event) []Effect {
	e.apply(g, now)
	return g.effects(now)
}

// Tick expires what has passed by now.
func (g *Group) Tick(now time.Time) []Effect {
	g.tick(now)
	return g.effects(now)
}

// effects hands over the answers of a step.
func (g *Group) effects(now time.Time) []Effect {
	g.settle(now)
	if g.Empty() {
		g.reset()
	}
	out := g.out
	g.out = nil
	return out
}

func (g *Group) answerJoin(c Call, r coordinator.JoinResult) {
	g.out = append(g.out, Effect{Call: c, Join: r})
}

func (g *Group) answerSync(c Call, r coordinator.SyncResult) {
	g.out = append(g.out, Effect{Call: c, Sync: r})
}

func (g *Group) answerCode(c Call, code coordinator.Code) {
	g.out = append(g.out, Effect{Call: c, Code: code})
}
