package group

import (
	"github.com/iggykafka/gateway/coordinator"
)

// state is the phase in Kafka's words. Dead means that there is no group.
func (g *Group) state() coordinator.State {
	if g.Empty() {
		return coordinator.Dead
	}
	return g.phase
}

// Describe returns the group as DescribeGroups shows it, at the last tick. The
// selected protocol and the metadata for it are shown in every phase;
// assignments are those of the leader's last Sync in this generation.
func (g *Group) Describe() coordinator.Description {
	d := coordinator.Description{
		Group:        g.id,
		State:        g.state(),
		ProtocolType: g.protocolType,
		Protocol:     g.protocol,
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
			Metadata:   m.metadata(g.protocol),
			Assignment: m.assignment,
		}
	}
	return d
}

// List returns the group as ListGroups shows it. It takes no tick, as listing
// names no group and reading must not open rebalances.
func (g *Group) List() coordinator.Listing {
	return coordinator.Listing{Group: g.id, ProtocolType: g.protocolType, State: g.state()}
}
