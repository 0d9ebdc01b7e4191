package describegroups_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/describegroups"
	"github.com/iggykafka/gateway/handlers/joingroup"
	"github.com/iggykafka/gateway/handlers/leavegroup"
	"github.com/iggykafka/gateway/handlers/listgroups"
	"github.com/iggykafka/gateway/handlers/syncgroup"
)

// live is the coordinator that a gateway runs, with the handlers over it.
type live struct {
	t                                 testing.TB
	join, sync, leave, describe, list handler.Handler
}

func newLive(t testing.TB, change func(*coordinator.Config)) live {
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	if change != nil {
		change(&cfg)
	}
	groups := memory.New(cfg)
	return live{
		t: t, join: joingroup.New(groups), sync: syncgroup.New(groups), leave: leavegroup.New(groups),
		describe: describegroups.New(groups), list: listgroups.New(groups),
	}
}

// ask sends a request at a version and returns the answer as it is on the wire.
func ask[R kmsg.Response](l live, h handler.Handler, version int16, req kmsg.Request) R {
	l.t.Helper()
	req.SetVersion(version)
	decoded := h.NewRequest()
	decoded.SetVersion(version)
	require.NoError(l.t, decoded.ReadFrom(req.AppendTo(nil)))
	call := handler.Call{ClientID: "app", Host: "/10.0.0.7", MaxFrame: 100 << 20}
	resp, err := h.Handle(l.t.Context(), call, decoded)
	require.NoError(l.t, err)
	back, err := handlertest.RoundTrip(resp, version)
	require.NoError(l.t, err)
	return back.(R)
}

func joinRequest(group, member string, instance *string, metadata string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID = group, member, instance
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	req.ProtocolType = "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{
		{Name: "range", Metadata: []byte(metadata)}, {Name: "sticky", Metadata: []byte("not " + metadata)},
	}
	return req
}

// joined runs a Join to its end.
func (l live) joined(version int16, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	l.t.Helper()
	resp := ask[*kmsg.JoinGroupResponse](l, l.join, version, req)
	require.Zero(l.t, resp.ErrorCode)
	return resp
}

func (l live) synced(group string, by *kmsg.JoinGroupResponse, assignments map[string]string) {
	l.t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, by.MemberID, by.Generation
	for member, data := range assignments {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: member, MemberAssignment: []byte(data)})
	}
	require.Zero(l.t, ask[*kmsg.SyncGroupResponse](l, l.sync, 3, req).ErrorCode)
}

// describedAlike describes one group at every version and returns what the
// versions agree on: the answer of the last one. What versions lack is put back
// before they are compared.
func (l live) describedAlike(group string) kmsg.DescribeGroupsResponseGroup {
	l.t.Helper()
	last := ask[*kmsg.DescribeGroupsResponse](l, l.describe, 6, &kmsg.DescribeGroupsRequest{Groups: []string{group, group}})
	require.Len(l.t, last.Groups, 1)
	want := last.Groups[0]
	require.Equal(l.t, int32(-2147483648), want.AuthorizedOperations)
	for v := int16(0); v < 6; v++ {
		req := &kmsg.DescribeGroupsRequest{Groups: []string{group, group}, IncludeAuthorizedOperations: true}
		resp := ask[*kmsg.DescribeGroupsResponse](l, l.describe, v, req)
		require.Len(l.t, resp.Groups, 1, "v%d", v)
		got := resp.Groups[0]
		require.Zero(l.t, got.ErrorCode, "v%d", v)
		require.Equal(l.t, int32(-2147483648), got.AuthorizedOperations, "v%d", v)
		got.ErrorCode, got.ErrorMessage = want.ErrorCode, want.ErrorMessage
		if v < 4 {
			for i := range got.Members {
				got.Members[i].InstanceID = want.Members[i].InstanceID
			}
		}
		require.Equal(l.t, want, got, "v%d", v)
	}
	return want
}

// listed lists at every version, with filters that every version agrees on:
// those that let everything pass. It returns "id type state".
func (l live) listed() []string {
	l.t.Helper()
	var want []string
	for v := int16(5); v >= 0; v-- {
		resp := ask[*kmsg.ListGroupsResponse](l, l.list, v, kmsg.NewPtrListGroupsRequest())
		require.Zero(l.t, resp.ErrorCode)
		var got []string
		for i, g := range resp.Groups {
			if v == 5 {
				require.Equal(l.t, "classic", g.GroupType)
				want = append(want, fmt.Sprintf("%s %s %s", g.Group, g.ProtocolType, g.GroupState))
			}
			state := g.GroupState
			if v < 4 {
				require.Empty(l.t, state)
				state = want[i][strings.LastIndexByte(want[i], ' ')+1:]
			}
			got = append(got, fmt.Sprintf("%s %s %s", g.Group, g.ProtocolType, state))
		}
		require.Equal(l.t, want, got, "v%d", v)
	}
	return want
}

// filtered returns the ids that a filter lets pass.
func (l live) filtered(version int16, states, types []string) []string {
	l.t.Helper()
	req := &kmsg.ListGroupsRequest{StatesFilter: states, TypesFilter: types}
	resp := ask[*kmsg.ListGroupsResponse](l, l.list, version, req)
	require.Zero(l.t, resp.ErrorCode)
	var ids []string
	for _, g := range resp.Groups {
		ids = append(ids, g.Group)
	}
	return ids
}

// The life of a group as DescribeGroups and ListGroups show it at every
// version: absent, id handed out, completing, stable, rebalancing, gone.
func TestLifeOfAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t, nil)
		instance := "i1"

		g := l.describedAlike("g")
		require.Equal(t, "Dead", g.State)
		require.Equal(t, int16(69), g.ErrorCode)
		require.Equal(t, "Group g not found.", *g.ErrorMessage)
		require.Empty(t, g.Members)
		require.Empty(t, l.listed())

		// KIP-394: the newcomer holds an id and is no member yet.
		sent := ask[*kmsg.JoinGroupResponse](l, l.join, 4, joinRequest("g", "", nil, "ma"))
		require.Equal(t, int16(79), sent.ErrorCode)
		g = l.describedAlike("g")
		require.Equal(t, "PreparingRebalance", g.State)
		require.Empty(t, g.ProtocolType)
		require.Empty(t, g.Members)
		require.Equal(t, []string{"g  PreparingRebalance"}, l.listed())

		a := l.joined(4, joinRequest("g", sent.MemberID, nil, "ma"))
		require.Equal(t, a.LeaderID, a.MemberID)
		g = l.describedAlike("g")
		require.Equal(t, "CompletingRebalance", g.State)
		require.Zero(t, g.ErrorCode)
		require.Nil(t, g.ErrorMessage)
		require.Equal(t, "consumer", g.ProtocolType)
		require.Equal(t, "range", g.Protocol, "the selected protocol is shown in every state")
		require.Len(t, g.Members, 1)
		require.Equal(t, "ma", string(g.Members[0].ProtocolMetadata), "and the metadata for it")
		require.Empty(t, g.Members[0].MemberAssignment)
		require.Equal(t, []string{"g consumer CompletingRebalance"}, l.listed())

		l.synced("g", a, map[string]string{a.MemberID: "xa"})
		g = l.describedAlike("g")
		require.Equal(t, "Stable", g.State)
		require.Equal(t, "xa", string(g.Members[0].MemberAssignment))
		require.Empty(t, g.Members[0].ClientID, "not kept by default")
		require.Empty(t, g.Members[0].ClientHost)
		require.Equal(t, []string{"g consumer Stable"}, l.listed())

		// A static member waits for the first to join again.
		second := make(chan *kmsg.JoinGroupResponse)
		go func() { second <- l.joined(9, joinRequest("g", "", &instance, "mb")) }()
		synctest.Wait()
		g = l.describedAlike("g")
		require.Equal(t, "PreparingRebalance", g.State)
		require.Equal(t, "range", g.Protocol)
		require.Len(t, g.Members, 2)
		require.Equal(t, []string{"g consumer PreparingRebalance"}, l.listed())

		a = l.joined(4, joinRequest("g", a.MemberID, nil, "ma"))
		b := <-second
		require.Equal(t, a.Generation, b.Generation)
		require.Len(t, a.Members, 2)
		follower := make(chan struct{})
		go func() { l.synced("g", b, nil); close(follower) }()
		l.synced("g", a, map[string]string{a.MemberID: "xa2", b.MemberID: "xb"})
		<-follower
		g = l.describedAlike("g")
		require.Equal(t, "Stable", g.State)
		require.Len(t, g.Members, 2)
		for _, m := range g.Members {
			if m.MemberID == a.MemberID {
				require.Nil(t, m.InstanceID)
				require.Equal(t, "ma", string(m.ProtocolMetadata))
				require.Equal(t, "xa2", string(m.MemberAssignment))
				continue
			}
			require.Equal(t, b.MemberID, m.MemberID)
			require.Equal(t, "i1", *m.InstanceID)
			require.Equal(t, "mb", string(m.ProtocolMetadata))
			require.Equal(t, "xb", string(m.MemberAssignment))
		}

		left := ask[*kmsg.LeaveGroupResponse](l, l.leave, 3, &kmsg.LeaveGroupRequest{Group: "g", Members: []kmsg.LeaveGroupRequestMember{
			{MemberID: a.MemberID}, {InstanceID: &instance}, {MemberID: a.MemberID}}})
		require.Equal(t, []int16{0, 0, 25}, []int16{left.Members[0].ErrorCode, left.Members[1].ErrorCode, left.Members[2].ErrorCode})
		require.Equal(t, "Dead", l.describedAlike("g").State)
		require.Empty(t, l.listed())
	})
}

// From v4 on a state filter, from v5 on a type filter too: trimmed, in any
// case, and what is not in use matches nothing without an error.
func TestFilters(t *testing.T) {
	t.Parallel()
	l := newLive(t, nil)
	a := l.joined(3, joinRequest("stable", "", nil, "m"))
	l.synced("stable", a, nil)
	l.joined(3, joinRequest("completing", "", nil, "m"))
	ask[*kmsg.JoinGroupResponse](l, l.join, 4, joinRequest("preparing", "", nil, "m"))
	all := []string{"completing", "preparing", "stable"}

	for _, v := range []int16{4, 5} {
		require.Equal(t, all, l.filtered(v, nil, nil))
		require.Equal(t, all, l.filtered(v, []string{}, []string{}))
		require.Equal(t, []string{"stable"}, l.filtered(v, []string{"Stable"}, nil))
		require.Equal(t, []string{"stable"}, l.filtered(v, []string{" \tsTABLE\n"}, nil))
		require.Equal(t, []string{"completing", "stable"}, l.filtered(v, []string{"stable", "completingrebalance"}, nil))
		require.Equal(t, []string{"preparing"}, l.filtered(v, []string{"Empty", "PreparingRebalance", "nonsense"}, nil))
		require.Empty(t, l.filtered(v, []string{"Empty"}, nil))
		require.Empty(t, l.filtered(v, []string{"Dead"}, nil), "a group that is listed is not Dead")
		require.Empty(t, l.filtered(v, []string{""}, nil), "an entry that is empty is no empty filter")
	}
	require.Equal(t, all, l.filtered(5, nil, []string{"share", " Classic "}))
	require.Equal(t, []string{"stable"}, l.filtered(5, []string{"stable"}, []string{"classic"}))
	require.Empty(t, l.filtered(5, []string{"stable"}, []string{"consumer"}), "both must pass")
	require.Empty(t, l.filtered(5, nil, []string{"consumer", "share", "streams", ""}))
	require.Equal(t, all, l.filtered(4, nil, []string{"consumer"}), "v4 has no type filter")
	require.Equal(t, all, l.filtered(3, []string{"Empty"}, []string{"consumer"}), "v3 has no filter")
}

// Listing expires nothing; naming a group does, however often it is named.
func TestNamingAGroupExpiresItAndListingDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t, nil)
		l.synced("g", l.joined(3, joinRequest("g", "", nil, "m")), nil)
		time.Sleep(10*time.Second - 1)
		require.Equal(t, "Stable", l.describedAlike("g").State)
		time.Sleep(2 * time.Nanosecond)
		require.Equal(t, []string{"g consumer Stable"}, l.listed())

		resp := ask[*kmsg.DescribeGroupsResponse](l, l.describe, 6, &kmsg.DescribeGroupsRequest{Groups: []string{"g", "g", "g"}})
		require.Len(t, resp.Groups, 1)
		require.Equal(t, "Dead", resp.Groups[0].State)
		require.Equal(t, int16(69), resp.Groups[0].ErrorCode)
		require.Empty(t, l.listed())
	})
}

// groups.retain_client_identity shows who a member is.
func TestClientIdentityIsRetainedOnRequest(t *testing.T) {
	t.Parallel()
	l := newLive(t, func(c *coordinator.Config) { c.RetainClientIdentity = coordinator.On })
	l.joined(3, joinRequest("g", "", nil, "m"))
	g := l.describedAlike("g")
	require.Equal(t, "app", g.Members[0].ClientID)
	require.Equal(t, "/10.0.0.7", g.Members[0].ClientHost)
}
