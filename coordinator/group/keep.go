package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// NewKept returns an empty group of a coordinator that keeps groups, with the
// rules of a Kafka broker for them:
//
//   - A group outlives its members: it is [coordinator.Empty] then, with its
//     protocol type, and its generation goes up by one. It lasts until [Group.Forget].
//     One that never completed a join has nothing to keep, and goes.
//   - A commit from outside makes a group of one that was not there.
//   - DescribeGroups shows the selected protocol and the metadata in Stable alone.
//   - Ids that were handed out are no members: a group with nothing else is Empty.
//   - What must be saved is told by [Group.Unsaved].
//
// As with [New], the configuration is shared, and must have been checked.
func NewKept(id string, cfg *coordinator.Config) *Group {
	g := &Group{id: id, cfg: cfg, keep: true}
	g.reset()
	return g
}

// Unsaved is what a step changed of the state that has to be saved before its
// answers are given.
type Unsaved uint8

// What a step can leave unsaved; the larger one includes the smaller.
const (
	Saved      Unsaved = iota
	Changed            // a member was replaced, or the group is empty
	Generation         // a generation began, or has its assignments
)

// Unsaved returns what has to be saved since it was asked last.
func (g *Group) Unsaved() Unsaved {
	u := g.unsaved
	g.unsaved = Saved
	return u
}

// Spoiled reports that something is unsaved, without changing that.
func (g *Group) Spoiled() bool { return g.unsaved != Saved }

// spoil says that the saved state is no longer right. Groups that are not kept
// have none.
func (g *Group) spoil(u Unsaved) {
	if g.keep {
		g.unsaved = max(g.unsaved, u)
	}
}

// SaveFailed says that the state of a generation could not be saved. What was to
// be answered with it is refused by the caller; here the generation ends, as in
// Kafka: a rebalance is opened. It is not answered.
type SaveFailed struct {
	Generation int32
}

func (e SaveFailed) apply(g *Group, now time.Time) {
	g.tick(now)
	if len(g.members) == 0 || g.phase == preparing || g.generation != e.Generation {
		return // the generation is over already
	}
	for _, m := range g.members {
		g.assign(m, nil)
	}
	g.open(now, nil, notSaved)
}

// Forget drops what keeps a group that has no members.
func (g *Group) Forget() {
	g.kept = false
	if g.Empty() {
		g.reset()
	}
}

// Generation returns the current generation, 0 until the first join completes.
func (g *Group) Generation() int32 { return g.generation }

// Idle reports that nobody is a member and no id is pending.
func (g *Group) Idle() bool { return len(g.members) == 0 && len(g.pending) == 0 }

// EmptySince returns when the group lost its last member; zero if it has members
// or never had any.
func (g *Group) EmptySince() time.Time { return g.since.time() }

// LastCommit returns when a commit from outside was let in last; zero if none was.
func (g *Group) LastCommit() time.Time { return g.committed.time() }

// outside lets in a commit from outside the group, which may be what the group
// begins with: the simple groups of consumers that assign partitions themselves.
func (g *Group) outside(now time.Time) coordinator.Code {
	if !g.keep {
		return coordinator.None
	}
	if len(g.id) > maxString {
		return coordinator.InvalidGroupID
	}
	g.kept, g.committed = true, at(now)
	return coordinator.None
}

// settle notes, at the end of a step, that it emptied the group.
func (g *Group) settle(now time.Time) {
	if !g.vacated {
		return
	}
	g.vacated = false
	if len(g.members) == 0 && g.kept {
		g.since = at(now)
		g.spoil(Changed)
	}
}

// maxKeptMembers bounds the members of a kept group, in bytes as they are counted,
// which is more than their saved state takes. The rest of the state is for their
// assignments.
const maxKeptMembers = coordinator.MaxSavedState / 4 * 3

// holds reports that a group whose members grow by so many bytes can be saved.
func (g *Group) holds(grow int64) bool {
	if !g.keep || g.bytes+grow <= maxKeptMembers {
		return true
	}
	bytes := g.bytes + grow
	for _, m := range g.members { // which end with the generation
		bytes -= int64(len(m.assignment))
	}
	return bytes <= maxKeptMembers
}

// holdsAssignments reports that a group can be saved with assignments of so many
// bytes in the place of those that it has.
func (g *Group) holdsAssignments(bytes int64) bool {
	return !g.keep || g.bytes+bytes <= coordinator.MaxSavedState-stateBytes
}

// stateBytes is more than a saved state takes beside what is counted as the
// memory of a group.
const stateBytes = 64
