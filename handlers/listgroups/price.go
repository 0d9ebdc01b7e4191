package listgroups

import "github.com/iggykafka/gateway/coordinator"

// groupMemory is what a group of the answer takes in memory beside its bytes on
// the wire: the listing and the decoded value.
const groupMemory = 128

// flexibleSince is the first version with varint lengths and tag sections
// (KIP-482).
const flexibleSince = 3

// price is the size of the answer as its encoder will write it, header included
// and the frame's length prefix not.
func price(version int16, groups []coordinator.Listing) int64 {
	var count, strings coordinator.Sum
	count.Add(len(groups), 1)
	for i := range groups {
		g := &groups[i]
		strings.Add(len(g.Group), 1)
		strings.Add(len(g.ProtocolType), 1)
		if version >= 4 {
			strings.Add(len(g.State), 1)
		}
	}
	if version >= 5 {
		strings.Add(len(coordinator.TypeClassic), len(groups))
	}
	size := int64(4 + 2) // correlation id, error code
	if version >= 1 {
		size += 4 // throttle
	}
	if version >= flexibleSince {
		// A tag section ends the header, the body and each group.
		return size + count.Prefixes + strings.Compact() + int64(len(groups)) + 2
	}
	return size + 4 + strings.Legacy(2)
}
