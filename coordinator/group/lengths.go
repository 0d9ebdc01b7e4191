package group

import (
	"cmp"

	"github.com/iggykafka/gateway/coordinator"
)

// Usage is what a group takes of the totals over all groups.
type Usage struct {
	Members int   // and pending ids
	Bytes   int64 // of memory: an estimate, never far below the truth
}

// What the parts of a group cost besides the bytes of their strings: structs,
// map entries, slots in slices.
const (
	groupBytes    = 1024
	memberBytes   = 512
	protocolBytes = 112
	pendingBytes  = 128
)

// sums are the parts of [coordinator.Lengths] that add up over the members.
// They are kept up to date with every change, so that a group can be priced in
// constant time.
type sums struct {
	memberIDs, instanceIDs, clientIDs, clientHosts, metadata, assignments coordinator.Sum
}

// summed returns the sums.
func (g *Group) summed() sums {
	if g.sums == nil {
		return sums{}
	}
	return *g.sums
}

// Lengths returns what is needed to price the group's description.
func (g *Group) Lengths() coordinator.Lengths {
	protocol, ok := g.shown()
	s := g.summed()
	if !ok {
		s.metadata = coordinator.Sum{}
		s.metadata.Add(0, len(g.members))
	}
	return coordinator.Lengths{
		Group:        g.id,
		State:        g.state(),
		ProtocolType: g.protocolType,
		Protocol:     protocol,
		Members:      len(g.members),
		MemberIDs:    s.memberIDs,
		InstanceIDs:  s.instanceIDs,
		ClientIDs:    s.clientIDs,
		ClientHosts:  s.clientHosts,
		Metadata:     s.metadata,
		Assignments:  s.assignments,
	}
}

// Usage returns what the group takes of the totals. An empty group takes nothing.
func (g *Group) Usage() Usage {
	if g.Empty() {
		return Usage{}
	}
	return Usage{Members: len(g.members) + len(g.pending), Bytes: groupBytes + int64(len(g.id)) + g.bytes}
}

// count adds a member to all sums (times 1) or takes it out (times −1). All that
// is derived from the members goes through here; a test compares it with a fresh
// count after every step.
func (g *Group) count(m *member, times int) {
	instance := -1
	if m.instance != nil {
		instance = len(*m.instance)
	}
	if g.sums == nil {
		g.sums = new(sums)
	}
	g.sums.memberIDs.Add(len(m.id), times)
	g.sums.instanceIDs.Add(instance, times)
	g.sums.clientIDs.Add(len(m.clientID), times)
	g.sums.clientHosts.Add(len(m.clientHost), times)
	g.sums.metadata.Add(len(m.metadata(g.protocol)), times)
	g.sums.assignments.Add(len(m.assignment), times)
	g.roster += int64(times) * rosterSize(m.id, m.instance, m.protocols)
	g.bytes += int64(times) * m.size()
	g.vote(m, times)
}

// change alters a member and keeps the sums right.
func (g *Group) change(m *member, alter func()) {
	g.count(m, -1)
	alter()
	g.count(m, 1)
}

// assign replaces a member's assignment.
func (g *Group) assign(m *member, data []byte) {
	g.sums.assignments.Add(len(m.assignment), -1)
	g.sums.assignments.Add(len(data), 1)
	g.bytes += int64(len(data) - len(m.assignment))
	m.assignment = data
}

// selectProtocol changes the selected protocol, and with it whose metadata
// counts.
func (g *Group) selectProtocol(name string) {
	if name == g.protocol {
		return
	}
	g.protocol = name
	if g.sums == nil {
		return
	}
	g.sums.metadata = coordinator.Sum{}
	for _, m := range g.members {
		g.sums.metadata.Add(len(m.metadata(name)), 1)
	}
}

// rosterSize bounds what one answer can be: it is what a member adds to the list that a leader gets, whichever
// protocol is selected.
func rosterSize(id string, instance *string, protocols []coordinator.Protocol) int64 {
	n := len(id) + largest(protocols)
	if instance != nil {
		n += len(*instance)
	}
	return int64(n)
}

// size is the memory that a member takes.
func (m *member) size() int64 {
	return joinSize(m.id, m.instance, m.protocols) + int64(len(m.clientID)+len(m.clientHost)+len(m.assignment))
}

// joinSize is the memory that a Join makes a group keep.
func joinSize(id string, instance *string, protocols []coordinator.Protocol) int64 {
	n := memberBytes + len(id)
	if instance != nil {
		n += len(*instance)
	}
	for _, p := range protocols {
		n += protocolBytes + len(p.Name) + len(p.Metadata)
	}
	return int64(n)
}

// pendingSize is the memory that an unclaimed id takes.
func pendingSize(id string) int64 { return pendingBytes + int64(len(id)) }

// Cost is the most that a join can make the group of this id grow by. Whoever
// keeps totals sets this much aside and passes it as Room, or passes less; the
// group refuses with COORDINATOR_NOT_AVAILABLE what needs more than that.
func (e Join) Cost() Usage {
	r := e.Request
	u := Usage{Bytes: groupBytes + int64(len(r.Group)) +
		joinSize(cmp.Or(r.MemberID, e.NewID), r.InstanceID, r.Protocols) +
		int64(len(r.ClientID)+len(r.ClientHost))}
	if r.MemberID == "" {
		u.Members = 1
	}
	return u
}

// Cost is the most that a sync can make the group grow by; see [Join.Cost].
func (e Sync) Cost() Usage {
	var u Usage
	for _, a := range e.Request.Assignments {
		u.Bytes += int64(len(a.Data))
	}
	return u
}

// Cost is the most that a commit from outside can make the group grow by.
func (e CheckCommit) Cost() Usage { return Usage{Bytes: groupBytes + int64(len(e.Request.Group))} }
