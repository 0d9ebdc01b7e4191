package describegroups

import (
	"context"
	"fmt"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// What an answer takes in memory beside its bytes on the wire, in bytes: for
// each named group the table of distinct ids, the description and the decoded
// value; for each member the description and the decoded value.
const (
	groupMemory  = 384
	memberMemory = 256
)

// tab prices one answer as its encoder will write it, header included and the
// frame's length prefix not.
type tab struct {
	version int16
	call    handler.Call
	frame   int64 // what the answer takes without any group
	sum     int64 // what was priced so far in the present pass
	members int64
}

// newTab prices an answer with so many groups, refused ones included.
func newTab(version int16, groups int, call handler.Call) *tab {
	frame := int64(4) + array(version, groups) + tags(version, 2) // correlation id; the header's tags and the body's
	if version >= 1 {
		frame += 4 // throttle
	}
	return &tab{version: version, call: call, frame: frame}
}

// refuse prices the entries of groups that the caller may not describe. It fails
// when they alone are too large: the coordinator is asked about other groups, if any.
func (t *tab) refuse(ids []string) error {
	for _, id := range ids {
		t.frame += groupPrice(t.version, &coordinator.Lengths{Group: id})
	}
	if limit := int64(t.call.MaxFrame); len(ids) > 0 && t.frame > limit {
		return fmt.Errorf("DescribeGroups answer of at least %d bytes, max_frame_size is %d", t.frame, limit)
	}
	return nil
}

// bill hands the tab to the coordinator, which leaves the frame to us.
func (t *tab) bill() coordinator.Bill {
	return coordinator.Bill{
		Limit: int64(t.call.MaxFrame) - t.frame,
		Price: func(l coordinator.Lengths) int64 {
			price := groupPrice(t.version, &l)
			t.sum += price
			t.members += int64(l.Members)
			return price
		},
		// Reserve ends the pass that prices all groups; whatever is priced
		// after it belongs to the pass that copies.
		Reserve: func(ctx context.Context, sum int64) error {
			t.sum = 0
			return t.call.Reserve(ctx, t.frame+sum+t.members*memberMemory)
		},
	}
}

// tooLarge is the size of an answer that the coordinator refused, as far as it
// was priced: the coordinator stops at the group that crosses the limit.
func (t *tab) tooLarge() int64 {
	return max(t.frame+t.sum, int64(t.call.MaxFrame)+1)
}

// groupPrice is what one group adds to the answer.
func groupPrice(version int16, l *coordinator.Lengths) int64 {
	price := 2 + // error code
		str(version, len(l.Group)) +
		str(version, len(l.State)) +
		str(version, len(l.ProtocolType)) +
		str(version, len(l.Protocol)) +
		array(version, l.Members) +
		tags(version, l.Members+1) +
		sum(version, l.MemberIDs, strWidth) +
		sum(version, l.ClientIDs, strWidth) +
		sum(version, l.ClientHosts, strWidth) +
		sum(version, l.Metadata, bytesWidth) +
		sum(version, l.Assignments, bytesWidth)
	if version >= 3 {
		price += 4 // authorized operations
	}
	if version >= 4 {
		price += sum(version, l.InstanceIDs, strWidth)
	}
	if version >= 6 {
		n := -1
		if text := message(version, l.Group, l.State); text != nil {
			n = len(*text)
		}
		price += str(version, n)
	}
	return price
}

// The widths of fixed length prefixes; from flexibleSince on (KIP-482) prefixes
// are varints and structures end in a tag section, empty here: one byte.
const (
	strWidth      = 2
	bytesWidth    = 4
	flexibleSince = 5
)

func sum(version int16, s coordinator.Sum, width int) int64 {
	if version >= flexibleSince {
		return s.Compact()
	}
	return s.Legacy(width)
}

// str is the size of a string of n bytes; −1 is null.
func str(version int16, n int) int64 {
	var s coordinator.Sum
	s.Add(n, 1)
	return sum(version, s, strWidth)
}

// array is the size of an array's count.
func array(version int16, n int) int64 {
	var s coordinator.Sum
	s.Add(n, 1)
	if version >= flexibleSince {
		return s.Prefixes
	}
	return bytesWidth
}

// tags is the size of n empty tag sections.
func tags(version int16, n int) int64 {
	if version >= flexibleSince {
		return int64(n)
	}
	return 0
}
