package host

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// What List keeps is never older than an answer that somebody got: whoever was told
// that a group is stable, or left it, sees that in the next list, however many
// groups change and are listed at the same time.
func TestListsShowWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*Host{
		"gone with the last": New(quick()),
		"kept":               New(quick(), Kept(func(context.Context, string, []byte) error { return nil })),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.keeper != nil {
				defer c.Close(t.Context())
			}
			var work sync.WaitGroup
			for i := range 8 {
				work.Go(func() {
					id := fmt.Sprint("group-", i)
					for range 200 {
						j := c.Join(t.Context(), newcomer(id, "x"))
						c.Sync(t.Context(), coordinator.SyncRequest{Group: id, MemberID: j.MemberID, Generation: j.Generation})
						if got := stateIn(c, id); got != coordinator.Stable {
							t.Errorf("%s is %q after its sync", id, got)
						}
						c.Leave(t.Context(), id, []coordinator.Identity{{MemberID: j.MemberID}})
						want := coordinator.State("")
						if c.keeper != nil {
							want = coordinator.Empty
						}
						if got := stateIn(c, id); got != want {
							t.Errorf("%s is %q, want %q after its last member left", id, got, want)
						}
						c.Remove(t.Context(), id)
						if got := stateIn(c, id); got != "" {
							t.Errorf("%s is %q after it was removed", id, got)
						}
					}
				})
			}
			work.Wait()
			require.Empty(t, c.List(t.Context(), coordinator.Filter{}))
		})
	}
}

// stateIn is the state that a list shows of a group; "" if it does not show it.
func stateIn(c *Host, id string) coordinator.State {
	for _, l := range c.List(context.Background(), coordinator.Filter{}) {
		if l.Group == id {
			return l.State
		}
	}
	return ""
}

// A list that nothing has changed since is not made again; what a group changes in
// a list makes it new, and what it does not, as heartbeats and members that come
// and go among others, leaves it.
func TestListIsMadeOnceAChange(t *testing.T) {
	t.Parallel()
	c := New(quick())
	for _, id := range []string{"b", "a", "c"} {
		j := c.Join(t.Context(), newcomer(id, "x"))
		c.Sync(t.Context(), coordinator.SyncRequest{Group: id, MemberID: j.MemberID, Generation: 1})
	}
	first := c.List(t.Context(), coordinator.Filter{})
	require.Equal(t, []coordinator.Listing{
		{Group: "a", ProtocolType: "consumer", State: coordinator.Stable},
		{Group: "b", ProtocolType: "consumer", State: coordinator.Stable},
		{Group: "c", ProtocolType: "consumer", State: coordinator.Stable},
	}, first)
	kept := func() bool { return &c.List(t.Context(), coordinator.Filter{})[0] == &first[0] }
	require.True(t, kept())
	c.Heartbeat(t.Context(), coordinator.HeartbeatRequest{Group: "a", MemberID: "nobody", Generation: 1})
	require.True(t, kept())
	require.Equal(t, coordinator.MemberIDRequired, c.Join(t.Context(), coordinator.JoinRequest{
		Group: "d", RequireMemberID: true, SessionTimeout: newcomer("d", "x").SessionTimeout,
		ProtocolType: "consumer", Protocols: newcomer("d", "x").Protocols,
	}).Code)
	require.False(t, kept(), "a group that only handed out an id is listed too")
	require.Len(t, c.List(t.Context(), coordinator.Filter{}), 4)
	require.Len(t, first, 3, "who has a list keeps it as it was")
	require.Len(t, c.List(t.Context(), coordinator.Filter{States: []string{"stable"}}), 3)
}

// BenchmarkListChanged is BenchmarkList10000 with one group that comes and goes
// between any two lists.
func BenchmarkListChanged(b *testing.B) {
	c, ids, _ := groups(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		j := c.Join(b.Context(), newcomer("another", "x"))
		require.Len(b, c.List(b.Context(), coordinator.Filter{}), len(ids)+1)
		c.Leave(b.Context(), "another", []coordinator.Identity{{MemberID: j.MemberID}})
	}
}
