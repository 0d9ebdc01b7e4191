package group

import (
	"github.com/iggykafka/gateway/coordinator"
)

// state is the phase in Kafka's words. Dead means that there is no group.
func (g *Group) state() coordinator.State {
	switch {
	case g.Empty():
		return coordinator.Dead
	case g.keep && len(g.members) == 0:
		return coordinator.Empty
	}
	return g.phase
}

// shown returns the protocol that is shown, with the metadata for it: the selected
// one in every phase, but in groups that are kept, as in Kafka, in Stable alone.
func (g *Group) shown() (protocol string, ok bool) {
	if g.keep && g.phase != stable {
		return "", false
	}
	return g.protocol, true
}

// Describe returns the group as DescribeGroups shows it, at the last tick.
// Assignments are those of the leader's last Sync in this generation.
func (g *Group) Describe() coordinator.Description {
	protocol, ok := g.shown()
	d := coordinator.Description{
		Group:        g.id,
		State:        g.state(),
		ProtocolType: g.protocolType,
		Protocol:     protocol,
	}
	if len(g.members) == 0 {
		return d
	}
	d.Members = make([]coordinator.MemberDescription, len(g.members))
	for i, m := range g.members {
		d.Members[i] = coordinator.MemberDescription{
			MemberID:   m.id,
			InstanceID: m.instance,
			ClientID:   m.clientID,
			ClientHost: m.clientHost,
			Assignment: m.assignment,
		}
		if ok {
			d.Members[i].Metadata = m.metadata(protocol)
		}
	}
	return d
}

// List returns the group as ListGroups shows it. It takes no tick, as listing
// names no group and reading must not open rebalances.
func (g *Group) List() coordinator.Listing {
	return coordinator.Listing{Group: g.id, ProtocolType: g.protocolType, State: g.state()}
}
