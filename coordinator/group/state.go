package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// The phases of a group. There is no empty one: a group without members is in
// preparing, waiting for its first.
const (
	preparing  = coordinator.PreparingRebalance
	completing = coordinator.CompletingRebalance
	stable     = coordinator.Stable
)

// Group is the state of one group. See the package comment for its use.
type Group struct {
	id  string
	cfg *coordinator.Config

	phase        coordinator.State
	generation   int32  // 0 until the first join completes
	protocolType string // "" while there are no members
	protocol     string // the selected one; kept through later rebalances
	leader       *member

	members    []*member            // by member id
	byInstance map[string]*member   // the static ones
	pending    map[string]time.Time // ids handed out and not yet claimed: their expiry
	support    map[string]int       // protocol name: how many members list it

	initial  bool // no join has completed since the first member came
	admitted bool // initial: somebody came in this delay, after the first
	joined   int  // members that are joined, so that the last one is noticed in O(1)

	start        time.Time // of the rebalance
	joinDeadline time.Time // preparing
	syncDeadline time.Time // completing, stable
	// due is a lower bound of what can expire: sessions, newcomers, pending ids.
	// Refreshing a session only moves its deadline up, so the bound stays true
	// without being touched, and a tick before it has nothing to look for.
	due time.Time

	calls map[Call]*member // the parked ones
	out   []Effect         // of the step at work

	// Of a group that is kept; see NewKept.
	keep      bool    // the rules of such groups
	kept      bool    // it is there even without members
	vacated   bool    // in the step at work
	unsaved   Unsaved // by the steps since it was asked for
	since     instant // when it became empty
	committed instant // from outside, last

	reason     reason // of the rebalance
	rebalances uint32
	past       []record

	sums   *sums // nil: no members
	roster int64 // bytes of what a leader is sent, at most
	bytes  int64 // of everything that members and pending ids hold
}

// New returns an empty group. The configuration is shared, not copied, and must
// have been checked.
func New(id string, cfg *coordinator.Config) *Group {
	g := &Group{id: id, cfg: cfg}
	g.reset()
	return g
}

// reset makes the group as new: one that vanished and comes back starts at
// generation 1 again. That is safe because member ids are new, and membership
// is checked before the generation.
func (g *Group) reset() {
	*g = Group{
		id: g.id, cfg: g.cfg, out: g.out, phase: preparing, initial: true,
		keep: g.keep, rebalances: g.rebalances,
	}
}

// vacate forgets what the last member leaves behind. Pending ids and the
// generation stay, in case the group does. One that is kept has its protocol
// type as well; its being empty counts as a generation, as in Kafka.
func (g *Group) vacate() {
	g.phase, g.initial, g.admitted = preparing, true, false
	g.protocol, g.leader, g.joined = "", nil, 0
	if g.keep && g.generation > 0 {
		g.kept, g.vacated = true, true
		g.generation = following(g.generation)
		g.abridge()
		// There may be very many groups like this, so they are small.
		g.members, g.byInstance, g.support, g.calls, g.sums = nil, nil, nil, nil, nil
		if len(g.pending) == 0 {
			g.pending, g.due = nil, time.Time{} // and need no timer
		}
	}
	if !g.kept {
		g.protocolType = ""
	}
	g.start, g.joinDeadline, g.syncDeadline = time.Time{}, time.Time{}, time.Time{}
}

// Empty reports that nobody is a member, no id is pending and nothing is kept: the
// group may be thrown away.
func (g *Group) Empty() bool { return g.Idle() && !g.kept }

// Parked returns how many calls wait for an answer.
func (g *Group) Parked() int { return len(g.calls) }

// Next returns a time before which no deadline passes; zero if there is none.
// It may be early: a Tick then changes nothing but makes Next exact.
func (g *Group) Next() time.Time {
	return earliest(g.due, earliest(g.joinDeadline, g.syncDeadline))
}

// earliest returns the earlier of two times, of which zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// passed reports that a deadline is set and not after now.
func passed(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }

// watch takes a new expiry into account.
func (g *Group) watch(expiry time.Time) { g.due = earliest(g.due, expiry) }

// longest returns the longest rebalance timeout of the members.
func (g *Group) longest() time.Duration {
	var d time.Duration
	for _, m := range g.members {
		d = max(d, m.rebalance)
	}
	return d
}
