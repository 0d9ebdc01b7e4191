package describegroups

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

// The generators are shared, and rapid writes to them: the tests that use them
// do not run in parallel.

// sizes lie at the steps of a varint of length+1, where a wrong formula shows.
var sizes = rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{126, 127, 16382, 16383}))

var text = rapid.Custom(func(t *rapid.T) string { return strings.Repeat("x", sizes.Draw(t, "n")) })

var member = rapid.Custom(func(t *rapid.T) coordinator.MemberDescription {
	m := coordinator.MemberDescription{
		MemberID:   text.Draw(t, "member id"),
		ClientID:   text.Draw(t, "client id"),
		ClientHost: text.Draw(t, "host"),
		Metadata:   []byte(text.Draw(t, "metadata")),
		Assignment: []byte(text.Draw(t, "assignment")),
	}
	if rapid.Bool().Draw(t, "static") {
		instance := text.Draw(t, "instance id")
		m.InstanceID = &instance
	}
	return m
})

var description = rapid.Custom(func(t *rapid.T) coordinator.Description {
	d := coordinator.Description{
		Group: text.Draw(t, "group"),
		State: rapid.SampledFrom([]coordinator.State{
			coordinator.Dead, coordinator.PreparingRebalance, coordinator.CompletingRebalance, coordinator.Stable,
		}).Draw(t, "state"),
	}
	if d.State != coordinator.Dead {
		d.ProtocolType, d.Protocol = text.Draw(t, "type"), text.Draw(t, "protocol")
		d.Members = rapid.SliceOfN(member, 0, 5).Draw(t, "members")
	}
	return d
})

// lengthsOf sums up what a coordinator stores.
func lengthsOf(d coordinator.Description) coordinator.Lengths {
	l := coordinator.Lengths{
		Group: d.Group, State: d.State, ProtocolType: d.ProtocolType, Protocol: d.Protocol, Members: len(d.Members),
	}
	for _, m := range d.Members {
		instance := -1
		if m.InstanceID != nil {
			instance = len(*m.InstanceID)
		}
		l.MemberIDs.Add(len(m.MemberID), 1)
		l.InstanceIDs.Add(instance, 1)
		l.ClientIDs.Add(len(m.ClientID), 1)
		l.ClientHosts.Add(len(m.ClientHost), 1)
		l.Metadata.Add(len(m.Metadata), 1)
		l.Assignments.Add(len(m.Assignment), 1)
	}
	return l
}

// priced is what the handler says an answer takes.
func priced(version int16, found []coordinator.Description) int64 {
	sum := newTab(version, len(found), handler.Call{}).frame
	for _, d := range found {
		l := lengthsOf(d)
		sum += groupPrice(version, &l)
	}
	return sum
}

// encoded is what the codec makes of it: header (correlation id, and a tag
// section from v5 on) and body.
func encoded(version int16, found []coordinator.Description) int64 {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	for i := range found {
		resp.Groups = append(resp.Groups, group(version, &found[i]))
	}
	return int64(handlertest.Size(resp, version))
}

func TestPriceEqualsTheEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		found := rapid.SliceOfN(description, 0, 4).Draw(t, "groups")
		for v := int16(0); v <= 6; v++ {
			if want, got := encoded(v, found), priced(v, found); want != got {
				t.Fatalf("v%d: encoded to %d bytes, priced at %d", v, want, got)
			}
		}
	})
}

// Counts and lengths at the larger steps of a varint.
func TestPriceEqualsTheEncoderAtTheSteps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{126, 127, 16382, 16383} {
		groups := make([]coordinator.Description, n)
		for i := range groups {
			groups[i].State = coordinator.Dead
		}
		members := []coordinator.Description{{Members: make([]coordinator.MemberDescription, n)}}
		for v := int16(0); v <= 6; v++ {
			require.Equal(t, encoded(v, groups), priced(v, groups), "v%d with %d groups", v, n)
			require.Equal(t, encoded(v, members), priced(v, members), "v%d with %d members", v, n)
		}
	}
	for _, n := range []int{1<<21 - 2, 1<<21 - 1} {
		found := []coordinator.Description{{Members: []coordinator.MemberDescription{{Metadata: make([]byte, n)}}}}
		for v := int16(0); v <= 6; v++ {
			require.Equal(t, encoded(v, found), priced(v, found), "v%d with %d bytes", v, n)
		}
	}
}

// Stored lengths follow every change of a group: what is added and taken away
// again leaves no trace.
func TestLengthsFollowChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := description.Draw(t, "group")
		l := lengthsOf(d)
		for _, gone := range rapid.SliceOfN(text, 0, 5).Draw(t, "gone") {
			l.Metadata.Add(len(gone), 1)
			l.InstanceIDs.Add(-1, 1)
			l.Metadata.Add(len(gone), -1)
			l.InstanceIDs.Add(-1, -1)
		}
		for v := int16(0); v <= 6; v++ {
			frame := newTab(v, 1, handler.Call{}).frame
			if want, got := encoded(v, []coordinator.Description{d}), frame+groupPrice(v, &l); want != got {
				t.Fatalf("v%d: encoded to %d bytes, priced at %d", v, want, got)
			}
		}
	})
}

// Groups that the caller may not describe are priced as they are encoded, up to the
// last byte of the limit.
func TestPriceOfRefusedGroups(t *testing.T) {
	t.Parallel()
	ids := []string{"", "a", strings.Repeat("x", 126), strings.Repeat("y", 127)}
	for v := int16(0); v <= 6; v++ {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		for _, id := range ids {
			resp.Groups = append(resp.Groups, refuse(id))
		}
		size := handlertest.Size(resp, v)
		fits := newTab(v, len(ids), handler.Call{MaxFrame: size})
		require.NoError(t, fits.refuse(ids), "v%d", v)
		require.EqualValues(t, size, fits.frame, "v%d", v)
		require.Error(t, newTab(v, len(ids), handler.Call{MaxFrame: size - 1}).refuse(ids), "v%d", v)
	}
}

func TestDistinctKeepsTheOrderOfFirstAppearance(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b", "a", ""}, distinct([]string{"b", "a", "b", "", "a", ""}))
	require.Empty(t, distinct(nil))
}

// The second pass starts to count anew, whatever it prices.
func TestTooLargeNamesTheSizeThatWasFound(t *testing.T) {
	t.Parallel()
	tab := newTab(0, 1, handler.Call{MaxFrame: 100})
	bill := tab.bill()
	price := bill.Price(coordinator.Lengths{Group: strings.Repeat("g", 200)})
	require.Equal(t, tab.frame+price, tab.tooLarge())
	require.NoError(t, bill.Reserve(context.Background(), price))
	require.Equal(t, int64(101), tab.tooLarge(), "nothing priced yet: only that it is above the limit is known")
}
