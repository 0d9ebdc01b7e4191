package group_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

// keptGroup returns a stable kept group of a dynamic leader and a static member.
func keptGroup(t require.TestingT, cfg *coordinator.Config) *group.Group {
	g := group.NewKept("g", cfg)
	join := func(call group.Call, id string, instance *string) {
		g.Step(epoch, group.Join{Call: call, NewID: id, Room: grouptest.Plenty, Request: coordinator.JoinRequest{
			Group: "g", ClientID: "c", ClientHost: "/10.0.0.7", InstanceID: instance, SessionTimeout: 10 * time.Second,
			RebalanceTimeout: time.Minute, ProtocolType: "consumer",
			Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte("topics")}, {Name: "sticky"}},
		}})
	}
	join(1, "a", nil)
	join(2, "s", pointer("i"))
	g.Tick(epoch.Add(6 * time.Second))
	g.Step(epoch.Add(6*time.Second), group.Sync{Call: 3, Room: grouptest.Plenty, Request: coordinator.SyncRequest{
		Group: "g", MemberID: "a", Generation: 1,
		Assignments: []coordinator.Assignment{{MemberID: "a", Data: []byte("pa")}, {MemberID: "s", Data: []byte("ps")}},
	}})
	require.Equal(t, coordinator.Stable, g.State())
	return g
}

func TestSnapshotAndRestore(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	cfg.RetainClientIdentity = coordinator.On
	g := keptGroup(t, &cfg)
	later := epoch.Add(time.Hour)
	back, err := group.Restore("g", &cfg, g.Snapshot(), later)
	require.NoError(t, err)
	require.NoError(t, back.Check())
	require.Equal(t, g.Describe(), back.Describe())
	require.Equal(t, g.Lengths(), back.Lengths())
	require.Equal(t, g.Generation(), back.Generation())
	require.Equal(t, "a", back.Leader())
	require.Equal(t, g.Usage(), back.Usage())
	require.Equal(t, g.Snapshot(), back.Snapshot())
	require.True(t, later.Add(10*time.Second).Equal(back.Next()), "sessions start anew")
	require.Equal(t, group.Saved, back.Unsaved())
}

// What a newcomer does before its first generation is nobody's business after a
// restart: the members of the generation before are asked to join again.
func TestNewcomersAreNotSaved(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	g := keptGroup(t, &cfg)
	g.Step(epoch.Add(7*time.Second), group.Join{Call: 9, NewID: "0", Room: grouptest.Plenty, Request: coordinator.JoinRequest{
		Group: "g", SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range"}},
	}})
	back, err := group.Restore("g", &cfg, g.Snapshot(), epoch)
	require.NoError(t, err)
	require.NoError(t, back.Check())
	require.Equal(t, coordinator.PreparingRebalance, back.State())
	require.Len(t, back.Describe().Members, 2)
	require.Equal(t, coordinator.RebalanceInProgress, back.Step(epoch, group.Heartbeat{Call: 1, Request: coordinator.HeartbeatRequest{
		Group: "g", MemberID: "a", Generation: 1,
	}})[0].Code)
}

func TestEmptySnapshot(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	g := keptGroup(t, &cfg)
	require.Equal(t, group.Generation, g.Unsaved())
	gone := epoch.Add(8 * time.Second)
	g.Step(gone, group.Leave{Call: 5, Identities: []coordinator.Identity{{MemberID: "a"}, {InstanceID: pointer("i")}}})
	require.Equal(t, group.Changed, g.Unsaved())
	back, err := group.Restore("g", &cfg, g.Snapshot(), epoch.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, coordinator.Empty, back.State())
	require.Equal(t, coordinator.Listing{Group: "g", ProtocolType: "consumer", State: coordinator.Empty}, back.List())
	require.True(t, gone.Equal(back.EmptySince()))
	require.EqualValues(t, 2, back.Generation())
	require.True(t, back.Next().IsZero())
	require.Less(t, len(g.Snapshot()), 64)
}

func TestHostileSnapshots(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	good := keptGroup(t, &cfg).Snapshot()
	for n := 1; n < len(good); n++ {
		_, err := group.Restore("g", &cfg, good[:n], epoch)
		require.Error(t, err, "cut at %d", n)
	}
	for name, state := range map[string]string{
		"another version":             "\x02" + string(good[1:]),
		"bytes left over":             string(good) + "x",
		"an unknown phase":            "\x01\x07" + string(good[2:]),
		"empty with members":          "\x01\x00" + string(good[2:]),
		"stable without members":      "\x01\x03\x01\x00\x08consumer\x05range\x00\x00",
		"very many members":           "\x01\x03\x01\x00\x08consumer\x05range\x00\xff\xff\xff\xff\x07",
		"a number without end":        "\x01\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a generation below nothing":  "\x01\x00\xff\xff\xff\xff\x0f\x00\x00\x00\x00\x00",
		"a string longer than it all": "\x01\x00\x01\x00\xff\x7f",
		"members out of order":        strings.ReplaceAll(string(good), "\x01a", "\x01z"),
		"another protocol":            strings.Replace(string(good), "\x05range", "\x05rangy", 1),
	} {
		_, err := group.Restore("g", &cfg, []byte(state), epoch)
		require.ErrorContains(t, err, "not the saved state of a group", name)
	}
}

// FuzzRestore: no bytes make Restore panic, or a group that does not hold together
// or cannot be saved again.
func FuzzRestore(f *testing.F) {
	cfg := coordinator.DefaultConfig()
	f.Add(keptGroup(f, &cfg).Snapshot())
	f.Add([]byte("\x01\x00\x05\x00\x08consumer\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, state []byte) {
		g, err := group.Restore("g", &cfg, state, epoch)
		if err != nil {
			return
		}
		require.NoError(t, g.Check())
		again, err := group.Restore("g", &cfg, g.Snapshot(), epoch)
		require.NoError(t, err)
		require.Equal(t, g.Dump(epoch), again.Dump(epoch))
		requireLengths(t, g.Lengths(), g.Describe())
		now := epoch
		for i := range 60 { // left alone, it ends; windows may be short beside sessions, so looks become rare
			if g.Next().IsZero() {
				break
			}
			now = now.Add(time.Millisecond << i)
			if g.Next().After(now) {
				now = g.Next()
			}
			g.Tick(now)
			require.NoError(t, g.Check())
		}
		require.Empty(t, g.Describe().Members, fmt.Sprint(g.Next()))
	})
}
