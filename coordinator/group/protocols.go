package group

import (
	"slices"

	"github.com/iggykafka/gateway/coordinator"
)

// vote adds or takes the support of a member for the protocols it lists. A name
// listed twice counts once.
func (g *Group) vote(m *member, times int) {
	for i, p := range m.protocols {
		if m.index(p.Name) != i {
			continue
		}
		if g.support == nil {
			g.support = make(map[string]int)
		}
		g.support[p.Name] += times
		if g.support[p.Name] == 0 {
			delete(g.support, p.Name)
		}
	}
}

// agrees reports that some protocol of the list is supported by every member
// other than the caller, who may be nil. Kafka counts the caller's own old list
// too, so that there a lone member cannot change it.
//
// As every join passes this check, there is always a protocol in common.
func (g *Group) agrees(protocols []coordinator.Protocol, caller *member) bool {
	others := len(g.members)
	if caller != nil {
		others--
	}
	return slices.ContainsFunc(protocols, func(p coordinator.Protocol) bool {
		n := g.support[p.Name]
		if caller != nil && caller.index(p.Name) >= 0 {
			n--
		}
		return n == others
	})
}

// winner holds the vote: candidates are the protocols that every member
// supports, each member votes for the first of them in its list, and most votes
// win. A tie goes to the one that the leader prefers (Kafka takes any).
func (g *Group) winner() string {
	votes := make(map[string]int)
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.support[p.Name] == len(g.members) {
				votes[p.Name]++
				break
			}
		}
	}
	best, most := "", 0
	for _, p := range g.leader.protocols {
		if votes[p.Name] > most {
			best, most = p.Name, votes[p.Name]
		}
	}
	return best
}
