package describegroups_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/describegroups"
)

// What a member brings must fit the 16-bit lengths of DescribeGroups v0–4, at
// whatever version it joined.
func TestJoinRefusesWhatDescribeCouldNotWrite(t *testing.T) {
	t.Parallel()
	l := newLive(t, nil)
	long, longest := strings.Repeat("x", 32_768), strings.Repeat("x", 32_767)
	prefix := longest[:32_767-37]

	for name, change := range map[string]func(*kmsg.JoinGroupRequest){
		"protocol type": func(r *kmsg.JoinGroupRequest) { r.ProtocolType = long },
		"member id":     func(r *kmsg.JoinGroupRequest) { r.MemberID = long },
		"instance id":   func(r *kmsg.JoinGroupRequest) { r.MemberID, r.InstanceID = "m", &long },
		"instance id without room for the uuid": func(r *kmsg.JoinGroupRequest) {
			tooLong := prefix + "x"
			r.InstanceID = &tooLong
		},
		"protocol": func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Name = long },
	} {
		req := joinRequest("refused", "", nil, "m")
		change(req)
		for v := int16(6); v <= 9; v++ {
			require.Equal(t, int16(42), ask[*kmsg.JoinGroupResponse](l, l.join, v, req).ErrorCode, "%s at v%d", name, v)
		}
	}
	require.Equal(t, "Dead", l.describedAlike("refused").State, "a refused join leaves no group")

	// What just fits is described at every version, v0 included.
	req := joinRequest("g", "", &prefix, "m")
	req.ProtocolType, req.Protocols[0].Name = longest, longest
	a := l.joined(9, req)
	require.Len(t, a.MemberID, 32_767)
	require.Equal(t, prefix+"-", a.MemberID[:32_731], "the instance id is the prefix, uncut")
	g := l.describedAlike("g")
	require.Equal(t, longest, g.ProtocolType)
	require.Equal(t, longest, g.Protocol)
	require.Equal(t, a.MemberID, g.Members[0].MemberID)

	// A client id is cut: it is not what the client asked to be called.
	resp, err := l.join.Handle(t.Context(), handler.Call{ClientID: longest, MaxFrame: 1 << 20}, joinRequest("h", "", nil, "m"))
	require.NoError(t, err)
	require.Len(t, resp.(*kmsg.JoinGroupResponse).MemberID, 32_767)
	require.Len(t, l.describedAlike("h").Members, 1)
}

// fits reports whether an answer of exactly size bytes goes out, and one byte
// less of room closes: the stored lengths equal the encoder's.
func fits(t require.TestingT, l live, h handler.Handler, req kmsg.Request) {
	ctx := l.t.Context()
	resp, err := h.Handle(ctx, handler.Call{MaxFrame: 100 << 20}, req)
	require.NoError(t, err)
	size := handlertest.Size(resp, req.GetVersion())
	_, err = h.Handle(ctx, handler.Call{MaxFrame: size}, req)
	require.NoError(t, err, "v%d with room for %d bytes", req.GetVersion(), size)
	_, err = h.Handle(ctx, handler.Call{MaxFrame: size - 1}, req)
	require.ErrorContains(t, err, fmt.Sprint(size), "v%d with room for %d bytes", req.GetVersion(), size-1)
}

// Whatever has happened to a group, its stored lengths equal the encoder's at
// every version.
func TestStoredLengthsEqualTheEncoderAfterAnything(t *testing.T) {
	metadata := rapid.Map(sizes, func(n int) string { return strings.Repeat("m", n) })
	rapid.Check(t, func(rt *rapid.T) {
		l := newLive(t, func(c *coordinator.Config) {
			c.RetainClientIdentity = rapid.SampledFrom([]coordinator.Switch{coordinator.On, coordinator.Off}).Draw(rt, "retain")
		})
		ids := []string{"a", strings.Repeat("b", 200), "absent"}
		last := map[string]*kmsg.JoinGroupResponse{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			group := rapid.SampledFrom(ids[:2]).Draw(rt, "group")
			was := last[group]
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0: // a first member, or the only one again, with other metadata
				req := joinRequest(group, "", nil, metadata.Draw(rt, "metadata"))
				if was != nil {
					req.MemberID = was.MemberID
				} else if rapid.Bool().Draw(rt, "static") {
					instance := strings.Repeat("i", sizes.Draw(rt, "instance"))
					req.InstanceID = &instance
				}
				if rapid.Bool().Draw(rt, "one protocol") {
					req.Protocols = req.Protocols[1:]
				}
				resp := ask[*kmsg.JoinGroupResponse](l, l.join, 5, req)
				if resp.ErrorCode == 0 {
					last[group] = resp
				} else if resp.ErrorCode == 79 { // claim the id
					req.MemberID = resp.MemberID
					last[group] = l.joined(5, req)
				}
			case 1:
				if was != nil {
					l.synced(group, was, map[string]string{was.MemberID: metadata.Draw(rt, "assignment"), "stranger": "x"})
				}
			case 2:
				if was != nil {
					left := ask[*kmsg.LeaveGroupResponse](l, l.leave, 2, &kmsg.LeaveGroupRequest{Group: group, MemberID: was.MemberID})
					require.Zero(rt, left.ErrorCode)
					delete(last, group)
				}
			case 3: // an id that stays pending
				ask[*kmsg.JoinGroupResponse](l, l.join, 4, joinRequest(rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "pending"), "", nil, "m"))
			}
			for v := int16(0); v <= 6; v++ {
				fits(rt, l, l.describe, &kmsg.DescribeGroupsRequest{Version: v, Groups: append(ids, "p")})
			}
			for v := int16(0); v <= 5; v++ {
				fits(rt, l, l.list, &kmsg.ListGroupsRequest{Version: v})
			}
		}
	})
}

var sizes = rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{126, 127, 128, 16_382, 16_383, 16_384}))

// Groups change while they are described and listed: every answer is whole, and
// none is larger than its price allowed.
func TestDescribeAndListWhileGroupsChange(t *testing.T) {
	t.Parallel()
	l := newLive(t, nil)
	var changing, reading sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		group := fmt.Sprintf("g%d", i)
		changing.Go(func() {
			for n := range 50 {
				a := l.joined(3, joinRequest(group, "", nil, strings.Repeat("m", n*10)))
				l.synced(group, a, map[string]string{a.MemberID: strings.Repeat("x", n)})
				ask[*kmsg.LeaveGroupResponse](l, l.leave, 0, &kmsg.LeaveGroupRequest{Group: group, MemberID: a.MemberID})
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for v := int16(0); ; v = (v + 1) % 6 {
				select {
				case <-done:
					return
				default:
				}
				resp := ask[*kmsg.DescribeGroupsResponse](l, l.describe, v, &kmsg.DescribeGroupsRequest{Groups: []string{"g0", "g1", "g2", "g3"}})
				for _, g := range resp.Groups {
					require.LessOrEqual(t, len(g.Members), 1)
					if g.State == "Dead" {
						require.Empty(t, g.Members)
					}
				}
				require.LessOrEqual(t, len(ask[*kmsg.ListGroupsResponse](l, l.list, v, kmsg.NewPtrListGroupsRequest()).Groups), 4)
			}
		})
	}
	changing.Wait()
	close(done)
	reading.Wait()
}

// Two thousand members of a thousand bytes are described at once; above the limit
// nothing is.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	groups := stocked()
	d := groups.groups["stable"]
	for i := range 2_000 {
		d.Members = append(d.Members, coordinator.MemberDescription{MemberID: fmt.Sprint(i), Metadata: make([]byte, 1000)})
	}
	groups.groups["stable"] = d
	l := live{t: t}
	h := describegroups.New(fakeOf(groups))
	for v := int16(0); v <= 6; v++ {
		fits(t, l, h, &kmsg.DescribeGroupsRequest{Version: v, Groups: []string{"stable"}})
	}
}

// A filter of very many entries is no more work for each group.
func TestHugeFilter(t *testing.T) {
	t.Parallel()
	l := newLive(t, nil)
	for i := range 200 {
		ask[*kmsg.JoinGroupResponse](l, l.join, 4, joinRequest(fmt.Sprint(i), "", nil, "m"))
	}
	filter := make([]string, 200_000)
	for i := range filter {
		filter[i] = " not a state"
	}
	require.Empty(t, l.filtered(4, filter, nil))
	filter[len(filter)-1] = "preparingrebalance"
	require.Len(t, l.filtered(4, filter, nil), 200)
}
