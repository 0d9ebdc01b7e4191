package group_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

// random drives one group with arbitrary events, sensible and not, and its twin
// with the same ones.
type random struct {
	*rapid.T
	g, twin *group.Group
	cfg     *coordinator.Config
	now     time.Duration
	last    group.Call
	waiting map[group.Call]string // verb of each call without an answer
	ids     []string              // member ids that were ever told or made
}

func TestAnyEvents(t *testing.T) {
	t.Parallel()
	t.Run("groups that go with their members", func(t *testing.T) { anyEvents(t, group.New) })
	t.Run("groups that are kept", func(t *testing.T) { anyEvents(t, group.NewKept) })
}

func anyEvents(t *testing.T, open func(string, *coordinator.Config) *group.Group) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	cfg.MaxMembers, cfg.MaxProtocols, cfg.MaxMemberBytes, cfg.MaxRosterBytes = 6, 3, 100, 200
	rapid.Check(t, func(rt *rapid.T) {
		cfg := cfg
		cfg.InitialRebalanceDelay = time.Duration(rapid.SampledFrom([]int{0, 3}).Draw(rt, "delay")) * time.Second
		cfg.NewMemberJoinTimeout = time.Duration(rapid.SampledFrom([]int{20, 300}).Draw(rt, "newcomer")) * time.Second
		r := &random{
			T: rt, g: open("g", &cfg), twin: open("g", &cfg), cfg: &cfg,
			waiting: map[group.Call]string{}, ids: []string{"", "nobody"},
		}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			r.now += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 3, 10, 61}).Draw(rt, "wait")) * time.Second
			r.anything()
		}
		// Left alone, the group answers whoever waits.
		for range 1000 {
			if r.g.Parked() == 0 {
				break
			}
			require.False(r, r.g.Next().IsZero(), "somebody waits for nothing")
			r.now = max(r.now, r.g.Next().Sub(epoch))
			r.tick()
		}
		require.Empty(r, r.waiting)
	})
}

// anything is one random event.
func (r *random) anything() {
	ticked := rapid.Bool().Draw(r.T, "tick first")
	if ticked {
		r.tick()
	}
	r.last++
	call := r.last
	member := rapid.SampledFrom(r.ids).Draw(r.T, "member")
	instance := rapid.SampledFrom([]*string{nil, nil, pointer("i"), pointer("j")}).Draw(r.T, "instance")
	request := coordinator.HeartbeatRequest{Group: "g", MemberID: member, InstanceID: instance, Generation: r.generation()}
	var ev group.Event
	var cost, room group.Usage // what the event may add at most, and what it is let
	switch verb := rapid.SampledFrom([]string{"join", "join", "join", "sync", "sync", "heartbeat", "commit", "leave", "disconnect", "tick"}).Draw(r.T, "verb"); verb {
	case "join":
		e := group.Join{Call: call, NewID: fmt.Sprintf("%02d", call%100), Room: r.room(), Request: coordinator.JoinRequest{
			Group: "g", MemberID: member, InstanceID: instance, ClientID: "c",
			SessionTimeout:   time.Duration(rapid.SampledFrom([]int{6, 10, 30}).Draw(r.T, "session")) * time.Second,
			RebalanceTimeout: time.Duration(rapid.SampledFrom([]int{0, 5, 60}).Draw(r.T, "rebalance")) * time.Second,
			ProtocolType:     "consumer",
			Protocols: rapid.SampledFrom([][]coordinator.Protocol{
				{{Name: "a"}}, {{Name: "a", Metadata: []byte("x")}, {Name: "b"}}, {{Name: "b", Metadata: make([]byte, 90)}, {Name: "a"}}, {{Name: "c"}}, {{Name: "a"}, {Name: "a"}},
			}).Draw(r.T, "protocols"),
			RequireMemberID: rapid.Bool().Draw(r.T, "v4"), CanSkipAssignment: rapid.Bool().Draw(r.T, "v9"),
		}}
		if member == "" {
			r.ids = append(r.ids, e.NewID)
		}
		r.waiting[call], ev, cost, room = verb, e, e.Cost(), e.Room
	case "sync":
		e := group.Sync{Call: call, Room: r.room(), Request: coordinator.SyncRequest{Group: "g", MemberID: member, InstanceID: instance, Generation: request.Generation}}
		for range rapid.IntRange(0, 3).Draw(r.T, "assignments") {
			e.Request.Assignments = append(e.Request.Assignments, coordinator.Assignment{
				MemberID: rapid.SampledFrom(r.ids).Draw(r.T, "to"), Data: make([]byte, rapid.SampledFrom([]int{0, 10, 101}).Draw(r.T, "bytes")),
			})
		}
		r.waiting[call], ev, cost, room = verb, e, e.Cost(), e.Room
	case "heartbeat":
		r.waiting[call], ev = verb, group.Heartbeat{Call: call, Request: request}
	case "commit":
		e := group.CheckCommit{Call: call, Request: request}
		r.waiting[call], ev, cost, room = verb, e, e.Cost(), e.Cost()
	case "leave":
		r.waiting[call], ev = verb, group.Leave{Call: call, Identities: []coordinator.Identity{{MemberID: member, InstanceID: instance}, {MemberID: "nobody"}}}
	case "disconnect":
		gone := group.Call(rapid.IntRange(1, int(call)).Draw(r.T, "call"))
		r.tick() // may still answer it
		delete(r.waiting, gone)
		ev = group.Disconnect{Call: gone}
	case "tick":
		r.tick()
		return
	}
	before := r.g.Usage()
	r.step(func(g *group.Group) []group.Effect { return g.Step(epoch.Add(r.now), ev) })
	if ticked {
		grown := group.Usage{Members: r.g.Usage().Members - before.Members, Bytes: r.g.Usage().Bytes - before.Bytes}
		require.True(r, grown.Members <= min(cost.Members, room.Members) && grown.Bytes <= max(0, min(cost.Bytes, room.Bytes)), "grown by %+v", grown)
	}
	if r.waiting[call] != "" {
		require.Contains(r, []string{"join", "sync"}, r.waiting[call], "only these wait")
	}
}

// generation is mostly the current one, else events go no deeper.
func (r *random) generation() int32 {
	return r.g.Generation() + int32(rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(r.T, "off"))
}

func (r *random) room() group.Usage {
	return rapid.SampledFrom([]group.Usage{grouptest.Plenty, grouptest.Plenty, grouptest.Plenty, {}}).Draw(r.T, "room")
}

func (r *random) tick() {
	r.step(func(g *group.Group) []group.Effect { return g.Tick(epoch.Add(r.now)) })
}

// step does the same to both groups and checks what must always hold.
func (r *random) step(do func(*group.Group) []group.Effect) {
	before, usage := r.g.Generation(), r.g.Usage()
	effects := do(r.g)
	require.Equal(r, effects, do(r.twin), "same state and input, same output")
	require.Equal(r, r.g.Dump(epoch), r.twin.Dump(epoch))
	require.NoError(r, r.g.Check())
	for _, eff := range effects {
		verb, ok := r.waiting[eff.Call]
		require.True(r, ok, "call %d is answered twice, or was disconnected", eff.Call)
		delete(r.waiting, eff.Call)
		switch verb {
		case "join":
			r.joined(eff.Join)
		case "sync":
			r.synced(eff.Sync)
		}
	}
	require.Equal(r, len(r.waiting), r.g.Parked())
	// The generation never falls, but a group that ends starts anew, maybe in the
	// same step.
	after := r.g.Generation()
	require.True(r, after >= before && after <= before+4 || after <= 1 && !r.g.Kept(), "generation %d after %d", after, before)
	require.True(r, !r.g.Empty() || after == 0)
	if d := r.g.Describe(); d.State != coordinator.Dead {
		requireLengths(r, r.g.Lengths(), d)
	}
	if r.g.Kept() {
		r.restored()
	}
	if room := r.g.Usage(); room.Members > usage.Members {
		require.Equal(r, usage.Members+1, room.Members)
	}
}

// restored checks that a kept group comes back from what is saved of it.
func (r *random) restored() {
	saved := r.g.Snapshot()
	back, err := group.Restore("g", r.cfg, saved, epoch.Add(r.now))
	require.NoError(r, err)
	require.NoError(r, back.Check())
	require.Equal(r, r.g.Generation(), back.Generation())
	require.Equal(r, saved, back.Snapshot())
}

// joined checks a successful answer to a Join.
func (r *random) joined(a coordinator.JoinResult) {
	if a.Code != coordinator.None {
		require.Equal(r, coordinator.JoinResult{Code: a.Code, MemberID: a.MemberID}, a, "an error carries nothing else")
		return
	}
	r.agree(a.Generation, a.Protocol, a.ProtocolType)
	require.NotEmpty(r, a.LeaderID)
	require.True(r, len(a.Members) == 0 || a.LeaderID == a.MemberID, "only the leader gets members")
	if len(a.Members) > 0 {
		require.True(r, slices.IsSortedFunc(a.Members, func(x, y coordinator.JoinedMember) int { return strings.Compare(x.MemberID, y.MemberID) }))
		require.True(r, slices.ContainsFunc(a.Members, func(m coordinator.JoinedMember) bool { return m.MemberID == a.MemberID }))
	}
	require.False(r, a.SkipAssignment && len(a.Members) == 0)
}

// synced checks a successful answer to a Sync.
func (r *random) synced(a coordinator.SyncResult) {
	if a.Code != coordinator.None {
		require.Equal(r, coordinator.SyncResult{Code: a.Code}, a, "an error carries nothing else")
		return
	}
	r.agree(r.g.Generation(), a.Protocol, a.ProtocolType)
}

// agree holds that an answer of the current generation names its protocol. (A
// step can end a generation at a deadline and open the next one for its event.)
func (r *random) agree(n int32, protocol, protocolType string) {
	if d := r.g.Describe(); len(d.Members) > 0 && n == r.g.Generation() {
		require.Equal(r, []string{r.g.Selected(), d.ProtocolType}, []string{protocol, protocolType})
	}
}

// requireLengths recomputes the lengths from a description.
func requireLengths(t require.TestingT, got coordinator.Lengths, d coordinator.Description) {
	want := coordinator.Lengths{Group: d.Group, State: d.State, ProtocolType: d.ProtocolType, Protocol: d.Protocol, Members: len(d.Members)}
	for _, m := range d.Members {
		instance := -1
		if m.InstanceID != nil {
			instance = len(*m.InstanceID)
		}
		want.MemberIDs.Add(len(m.MemberID), 1)
		want.InstanceIDs.Add(instance, 1)
		want.ClientIDs.Add(len(m.ClientID), 1)
		want.ClientHosts.Add(len(m.ClientHost), 1)
		want.Metadata.Add(len(m.Metadata), 1)
		want.Assignments.Add(len(m.Assignment), 1)
	}
	require.Equal(t, want, got)
}

func TestGenerationWraps(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	g := group.New("g", &cfg)
	join := group.Join{Call: 1, NewID: "m", Room: grouptest.Plenty, Request: coordinator.JoinRequest{
		Group: "g", SessionTimeout: time.Minute, ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "a"}},
	}}
	require.EqualValues(t, 1, g.Step(epoch, join)[0].Join.Generation)
	g.SetGeneration(math.MaxInt32)
	join.Request.MemberID, join.Request.Protocols = "m", []coordinator.Protocol{{Name: "b"}}
	require.EqualValues(t, 1, g.Step(epoch, join)[0].Join.Generation)
}

func pointer(s string) *string { return &s }
