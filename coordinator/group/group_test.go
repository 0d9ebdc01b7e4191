package group_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

var unique = uuid.MustParse("01234567-89ab-4def-8123-456789abcdef")

func TestMemberID(t *testing.T) {
	t.Parallel()
	const suffix = "-01234567-89ab-4def-8123-456789abcdef"
	for _, c := range []struct {
		name, client string
		instance     *string
		want         string
	}{
		{"client id", "consumer", nil, "consumer" + suffix},
		{"no client id", "", nil, suffix},
		{"instance id wins", "consumer", pointer("i"), "i" + suffix},
		{"empty instance id", "consumer", pointer(""), suffix},
		{"longest", strings.Repeat("x", 32730), nil, strings.Repeat("x", 32730) + suffix},
		{"cut", strings.Repeat("x", 32731), nil, strings.Repeat("x", 32730) + suffix},
		{"cut at a character", strings.Repeat("x", 32729) + "é", nil, strings.Repeat("x", 32729) + suffix},
		{"cut in four bytes", strings.Repeat("x", 32727) + "😀", nil, strings.Repeat("x", 32727) + suffix},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := group.MemberID(coordinator.JoinRequest{ClientID: c.client, InstanceID: c.instance}, unique)
			require.Equal(t, c.want, got)
			require.LessOrEqual(t, len(got), 32767)
			require.True(t, utf8.ValidString(got))
		})
	}
}

func TestCheckJoinBounds(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	long, longer := strings.Repeat("x", 32767), strings.Repeat("x", 32768)
	ok := coordinator.JoinRequest{
		Group: long, MemberID: long, InstanceID: &long, ProtocolType: long, SessionTimeout: 6 * time.Second,
		Protocols: []coordinator.Protocol{{Name: long}},
	}
	for _, c := range []struct {
		name   string
		change func(*coordinator.JoinRequest)
		want   coordinator.Code
	}{
		{"all at their longest", func(*coordinator.JoinRequest) {}, coordinator.None},
		{"group id empty", func(r *coordinator.JoinRequest) { r.Group = "" }, coordinator.InvalidGroupID},
		{"group id", func(r *coordinator.JoinRequest) { r.Group = longer }, coordinator.InvalidGroupID},
		{"group id before session timeout", func(r *coordinator.JoinRequest) { r.Group, r.SessionTimeout = "", 0 }, coordinator.InvalidGroupID},
		{"session timeout before lengths", func(r *coordinator.JoinRequest) { r.MemberID, r.SessionTimeout = longer, 0 }, coordinator.InvalidSessionTimeout},
		{"longest session timeout", func(r *coordinator.JoinRequest) { r.SessionTimeout = 30 * time.Minute }, coordinator.None},
		{"member id", func(r *coordinator.JoinRequest) { r.MemberID = longer }, coordinator.InvalidRequest},
		{"instance id", func(r *coordinator.JoinRequest) { r.InstanceID = &longer }, coordinator.InvalidRequest},
		{"instance id and a generated member id", func(r *coordinator.JoinRequest) { r.MemberID = "" }, coordinator.InvalidRequest},
		{"instance id that leaves room", func(r *coordinator.JoinRequest) { r.MemberID, r.InstanceID = "", pointer(long[:32730]) }, coordinator.None},
		{"instance id that leaves too little", func(r *coordinator.JoinRequest) { r.MemberID, r.InstanceID = "", pointer(long[:32731]) }, coordinator.InvalidRequest},
		{"protocol type", func(r *coordinator.JoinRequest) { r.ProtocolType = longer }, coordinator.InvalidRequest},
		{"protocol name", func(r *coordinator.JoinRequest) { r.Protocols = []coordinator.Protocol{{Name: longer}} }, coordinator.InvalidRequest},
		{"64 protocols", func(r *coordinator.JoinRequest) { r.Protocols = make([]coordinator.Protocol, 64) }, coordinator.None},
		{"65 protocols", func(r *coordinator.JoinRequest) { r.Protocols = make([]coordinator.Protocol, 65) }, coordinator.InvalidRequest},
		{"1 MiB in all", func(r *coordinator.JoinRequest) {
			r.Protocols = []coordinator.Protocol{{Name: "p", Metadata: make([]byte, 1<<20-32767-1)}}
		}, coordinator.None},
		{"1 MiB and a byte", func(r *coordinator.JoinRequest) {
			r.Protocols = []coordinator.Protocol{{Name: "p", Metadata: make([]byte, 1<<20-32767)}}
		}, coordinator.InvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := ok
			c.change(&r)
			require.Equal(t, c.want, group.CheckJoin(&cfg, r))
			if c.want != coordinator.None { // a step makes the same check
				g := group.New(r.Group, &cfg)
				require.Equal(t, coordinator.JoinResult{Code: c.want, MemberID: r.MemberID}, g.Step(epoch, group.Join{Request: r, NewID: "n"})[0].Join)
			}
		})
	}
}

// An empty group answers as Kafka does for one that it does not know.
func TestAbsentGroup(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	step := func(id string, e group.Event) group.Effect {
		g := group.New(id, &cfg)
		effects := g.Step(epoch, e)
		require.Len(t, effects, 1)
		require.True(t, g.Empty())
		require.Zero(t, g.Usage())
		require.True(t, g.Next().IsZero())
		return effects[0]
	}
	require.Equal(t, coordinator.InvalidGroupID, step("", group.Heartbeat{}).Code)
	require.Equal(t, coordinator.UnknownMemberID, step("g", group.Heartbeat{}).Code)
	require.Equal(t, coordinator.InvalidGroupID, step("", group.Sync{}).Sync.Code)
	require.Equal(t, coordinator.UnknownMemberID, step("g", group.Sync{}).Sync.Code)
	require.Equal(t, coordinator.InvalidGroupID, step("", group.Leave{Identities: make([]coordinator.Identity, 2)}).Code)
	require.Empty(t, step("", group.Leave{Identities: make([]coordinator.Identity, 2)}).Codes)
	require.Equal(t, []coordinator.Code{coordinator.UnknownMemberID}, step("g", group.Leave{Identities: []coordinator.Identity{{MemberID: "m"}}}).Codes)
	require.Empty(t, step("g", group.Leave{}).Codes)
	require.Equal(t, coordinator.None, step("", group.CheckCommit{Request: coordinator.HeartbeatRequest{Generation: -1}}).Code)
	require.Equal(t, coordinator.UnknownMemberID, step("g", group.CheckCommit{}).Code)
	require.Equal(t, coordinator.Description{Group: "g", State: coordinator.Dead}, group.New("g", &cfg).Describe())
	require.Equal(t, coordinator.Lengths{Group: "g", State: coordinator.Dead}, group.New("g", &cfg).Lengths())
}
