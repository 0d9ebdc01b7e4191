package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

// A group that is kept never becomes larger than what a ledger takes: it would
// have no generation ever again. The members that are too many are refused, and
// there is room left for assignments; those that are too large are refused, too.
func TestKeptGroupsCanBeSaved(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	cfg.RetainClientIdentity = coordinator.On
	cfg.MaxMemberBytes = 4 << 20
	const piece = 500 << 10
	g, now, call := group.NewKept("g", &cfg), epoch, group.Call(0)
	step := func(event func(group.Call) group.Event) []group.Effect {
		call++
		effects := g.Step(now, event(call))
		require.NoError(t, g.Check())
		require.LessOrEqual(t, len(g.Snapshot()), coordinator.MaxSavedState)
		return effects
	}
	join := func(id string, known bool, size int) coordinator.Code {
		r := coordinator.JoinRequest{
			Group: "g", ClientID: "c", ClientHost: "/h", SessionTimeout: 20 * time.Minute, RebalanceTimeout: time.Hour, ProtocolType: "consumer",
			Protocols: []coordinator.Protocol{{Name: "range", Metadata: make([]byte, size)}, {Name: "sticky", Metadata: make([]byte, size)}},
		}
		if known {
			r.MemberID = id
		}
		for _, eff := range step(func(c group.Call) group.Event {
			return group.Join{Call: c, NewID: id, Room: grouptest.Plenty, Request: r}
		}) {
			if eff.Call == call {
				return eff.Join.Code
			}
		}
		return coordinator.None // it waits
	}
	name := func(n int) string { return fmt.Sprintf("m%02d", n) }
	members := 0
	for ; ; members++ {
		require.Less(t, members, 32, "nobody is refused")
		if code := join(name(members), false, piece); code != coordinator.None {
			require.Equal(t, coordinator.GroupMaxSizeReached, code)
			break
		}
	}
	require.Equal(t, 12, members) // of a million bytes each, in three quarters of 16 MiB
	require.Equal(t, coordinator.GroupMaxSizeReached, join(name(0), true, piece+(200<<10)), "one that grows")
	for n := range members { // the others stay
		require.Equal(t, coordinator.None, join(name(n), true, piece))
	}

	sync := func(size int) coordinator.Code {
		var assignments []coordinator.Assignment
		for n := range members {
			assignments = append(assignments, coordinator.Assignment{MemberID: name(n), Data: make([]byte, size)})
		}
		for _, eff := range step(func(c group.Call) group.Event {
			return group.Sync{Call: c, Room: grouptest.Plenty, Request: coordinator.SyncRequest{
				Group: "g", MemberID: g.Leader(), Generation: g.Generation(), Assignments: assignments,
			}}
		}) {
			if eff.Call == call {
				return eff.Sync.Code
			}
		}
		return coordinator.None
	}
	require.Equal(t, coordinator.CompletingRebalance, g.State())
	require.Equal(t, coordinator.InvalidRequest, sync(500<<10))
	require.Equal(t, coordinator.CompletingRebalance, g.State())
	require.Equal(t, coordinator.None, sync(300<<10))
	require.Equal(t, coordinator.Stable, g.State())

	// What members were assigned takes nothing from who joins.
	for n := range members {
		require.Equal(t, coordinator.None, join(name(n), true, piece+100*n))
	}
}

// Groups that are not kept are bound by the configuration alone.
func TestGroupsThatAreNotKeptMayBeLarger(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	g := group.New("g", &cfg)
	for n := range 30 {
		g.Step(epoch, group.Join{Call: group.Call(n), NewID: fmt.Sprint(n), Room: grouptest.Plenty, Request: coordinator.JoinRequest{
			Group: "g", SessionTimeout: 20 * time.Minute, RebalanceTimeout: time.Hour, ProtocolType: "consumer",
			Protocols: []coordinator.Protocol{{Name: "range", Metadata: make([]byte, 1<<20-100)}},
		}})
	}
	require.Equal(t, 30, g.Lengths().Members)
}
