package group

import (
	"slices"
	"strings"

	"github.com/iggykafka/gateway/coordinator"
)

// find returns the member of an id, or nil.
func (g *Group) find(id string) *member {
	if i, ok := g.position(id); ok {
		return g.members[i]
	}
	return nil
}

// position returns where an id stands, or would stand, among the members.
func (g *Group) position(id string) (int, bool) {
	return slices.BinarySearchFunc(g.members, id, func(m *member, id string) int { return strings.Compare(m.id, id) })
}

// holder returns the member that holds an instance id, or nil.
func (g *Group) holder(instance *string) *member {
	if instance == nil {
		return nil
	}
	return g.byInstance[*instance]
}

// member is the check that comes before the generation in every request but
// Join's first: an instance id must be held, and by this member id (KIP-345
// fences whoever was replaced), and the member id must be known.
func (g *Group) member(id string, instance *string) (*member, coordinator.Code) {
	if instance != nil {
		switch m := g.holder(instance); {
		case m == nil:
			return nil, coordinator.UnknownMemberID
		case m.id != id:
			return nil, coordinator.FencedInstanceID
		}
	}
	if m := g.find(id); m != nil {
		return m, coordinator.None
	}
	return nil, coordinator.UnknownMemberID
}

// The members are a sorted slice, and ids are found by binary search. Whatever is
// shown or chosen is in the order of member ids, so that it does not depend on
// chance; and a slice of some thousand pointers is moved faster than a tree is
// walked.

// insert adds a member in its place.
func (g *Group) insert(m *member) {
	i, _ := g.position(m.id)
	g.members = slices.Insert(g.members, i, m)
	if m.instance != nil {
		if g.byInstance == nil {
			g.byInstance = make(map[string]*member)
		}
		g.byInstance[*m.instance] = m
	}
	g.count(m, 1)
}

// rename gives a member another id, and so another place.
func (g *Group) rename(m *member, id string) {
	i, _ := g.position(m.id)
	g.members = slices.Delete(g.members, i, i+1)
	m.id = id
	i, _ = g.position(id)
	g.members = slices.Insert(g.members, i, m)
}

// remove ends a membership. Calls parked for it answer UNKNOWN_MEMBER_ID.
func (g *Group) remove(m *member) {
	i, _ := g.position(m.id)
	g.members = slices.Delete(g.members, i, i+1)
	g.forget(m)
	g.succeed()
}

// removeWhere removes all members for which gone is true, and says how many.
func (g *Group) removeWhere(gone func(*member) bool) int {
	before := len(g.members)
	g.members = slices.DeleteFunc(g.members, func(m *member) bool {
		if !gone(m) {
			return false
		}
		g.forget(m)
		return true
	})
	g.succeed()
	return before - len(g.members)
}

// forget clears up behind a member that is no longer in the list.
func (g *Group) forget(m *member) {
	g.release(m, coordinator.UnknownMemberID)
	g.count(m, -1)
	g.setJoined(m, false)
	if m.instance != nil {
		delete(g.byInstance, *m.instance)
	}
	if g.leader == m {
		g.leader = nil
	}
}

// succeed fills the place of a removed leader with the smallest member id
// (Kafka takes any), or empties the group behind the last member.
func (g *Group) succeed() {
	switch {
	case len(g.members) == 0:
		g.vacate()
	case g.leader == nil:
		g.leader = g.members[0]
	}
}

// setJoined keeps the count of joined members.
func (g *Group) setJoined(m *member, joined bool) {
	switch {
	case joined && !m.joined:
		g.joined++
	case !joined && m.joined:
		g.joined--
	}
	m.joined = joined
}
