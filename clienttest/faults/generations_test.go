package faults

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// owned is what members were told of generations: of one, all were told the same if
// no partition has two owners in it, and none hears of an older one after it.
type owned struct {
	now    map[*kgo.Client]map[place]bool
	latest map[*kgo.Client]int32
	owners map[int32]map[place]string // member ids, by generation
	faults []string
}

func newOwned() owned {
	return owned{map[*kgo.Client]map[place]bool{}, map[*kgo.Client]int32{}, map[int32]map[place]string{}, nil}
}

func (o *owned) gain(client *kgo.Client, member string, generation int32, more map[string][]int32) {
	if o.now[client] == nil {
		o.now[client] = map[place]bool{}
	}
	for topic, partitions := range more {
		for _, p := range partitions {
			o.now[client][place{topic, p}] = true
		}
	}
	if last := o.latest[client]; generation < last {
		o.faults = append(o.faults, fmt.Sprintf("generation %d came after %d", generation, last))
	}
	o.latest[client] = generation
	if o.owners[generation] == nil {
		o.owners[generation] = map[place]string{}
	}
	for at := range o.now[client] {
		if other := o.owners[generation][at]; other != "" && other != member {
			o.faults = append(o.faults, fmt.Sprintf("generation %d gave %v to two members", generation, at))
		}
		o.owners[generation][at] = member
	}
}

func (o *owned) lose(client *kgo.Client, gone map[string][]int32) {
	for topic, partitions := range gone {
		for _, p := range partitions {
			delete(o.now[client], place{topic, p})
		}
	}
}

// members returns the ids that members have now. One that the coordinator does not
// know any more begins anew with another. franz-go joins again, as who it is, when
// the only broker there is refuses connections for a while; so generations come.
func (c *consumers) members() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for client := range c.owned.now {
		id, _ := client.GroupMetadata()
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// settled reports that so many members have a share, by what they know, that each
// partition has one owner, and that all are in one generation.
func (c *consumers) settled(members int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	count, sharing, generations := 0, 0, map[int32]bool{}
	for client, all := range c.owned.now {
		count += len(all)
		if len(all) > 0 {
			sharing++
		}
		_, generation := client.GroupMetadata()
		generations[generation] = true
	}
	return count == 2*partitions && sharing == members && len(generations) == 1
}

// generationsKept fails the test when a generation came again with other members. A
// coordinator that forgets begins anew with each life of the gateway.
func (s *scene) generationsKept() {
	s.t.Helper()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	s.t.Logf("%d generations, of which %d faults were seen", len(s.group.owned.owners), len(s.group.owned.faults))
	if s.durable {
		require.Empty(s.t, s.group.owned.faults)
	}
}
