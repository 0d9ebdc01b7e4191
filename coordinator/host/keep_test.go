package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// kept returns a running host that keeps groups and saves them with save.
func kept(t testing.TB, cfg coordinator.Config, save Save) *Host {
	c := New(cfg, Kept(save))
	c.Run()
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func nowhere(context.Context, string, []byte) error { return nil }

// stable returns a member of a stable group of one.
func stable(t testing.TB, c *Host, id string) coordinator.JoinResult {
	r := newcomer(id, "consumer")
	j := c.Join(t.Context(), r)
	require.Equal(t, coordinator.None, j.Code)
	s := c.Sync(t.Context(), coordinator.SyncRequest{Group: id, MemberID: j.MemberID, Generation: j.Generation})
	require.Equal(t, coordinator.None, s.Code)
	return j
}

func leave(t testing.TB, c *Host, id, member string) {
	_, codes := c.Leave(t.Context(), id, []coordinator.Identity{{MemberID: member}})
	require.Equal(t, []coordinator.Code{coordinator.None}, codes)
}

// Saves of one group never overlap, and what is saved last is what the group is.
func TestSavesAreInOrderAndMerged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var saved []int // lengths of what was saved
		busy := false
		c := kept(t, quick(), func(_ context.Context, _ string, state []byte) error {
			require.False(t, busy)
			busy = true
			time.Sleep(time.Second)
			busy = false
			saved = append(saved, len(state))
			return nil
		})
		a := stable(t, c, "g")
		require.Len(t, saved, 2, "the generation, and its assignments")
		leader := newcomer("g", "consumer")
		leader.MemberID = a.MemberID
		var done sync.WaitGroup
		for range 20 { // each is a generation; saves take a second
			done.Go(func() { c.Join(t.Context(), leader) })
			synctest.Wait()
		}
		done.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.LessOrEqual(t, len(saved), 2+2, "one under way, and one for all others")
		require.Nil(t, c.groups["g"].saves)
	})
}

func TestRemoveWaitsForItsSave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		c := kept(t, quick(), func(context.Context, string, []byte) error {
			time.Sleep(time.Second)
			if away.Load() {
				return errors.New("away")
			}
			return nil
		})
		a := stable(t, c, "g")
		leave(t, c, "g", a.MemberID)
		require.Equal(t, coordinator.None, c.Remove(t.Context(), "g"))
		synctest.Wait()
		require.Empty(t, c.IDs())

		// Failed, the group is still there.
		a = stable(t, c, "g")
		leave(t, c, "g", a.MemberID)
		away.Store(true)
		require.Equal(t, coordinator.CoordinatorNotAvailable, c.Remove(t.Context(), "g"))
		require.Len(t, c.List(t.Context(), coordinator.Filter{}), 1)
		away.Store(false)

		// Somebody joins meanwhile: the group goes on, with its generation.
		removed := make(chan coordinator.Code, 1)
		go func() { removed <- c.Remove(t.Context(), "g") }()
		synctest.Wait()
		b := stable(t, c, "g")
		require.Equal(t, coordinator.NonEmptyGroup, <-removed)
		require.EqualValues(t, 3, b.Generation)
		leave(t, c, "g", b.MemberID)

		// Who does not wait for the answer, leaves nothing waiting.
		ctx, cancel := context.WithCancel(t.Context())
		go func() { removed <- c.Remove(ctx, "g") }()
		synctest.Wait()
		cancel()
		require.Equal(t, coordinator.NotCoordinator, <-removed)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Empty(t, c.IDs())
		require.Zero(t, c.totals.bytes.Load())
	})
}

// A newcomer in the middle of a removal whose first join never completes: what is
// left of the group is saved again, so that its generation never goes back.
func TestRemovalThatMeetsANewcomer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := coordinator.DefaultConfig()
		var last []byte
		c := kept(t, cfg, func(_ context.Context, _ string, state []byte) error {
			time.Sleep(time.Second)
			last = state
			return nil
		})
		a := stable(t, c, "g")
		leave(t, c, "g", a.MemberID)
		removed := make(chan coordinator.Code, 1)
		go func() { removed <- c.Remove(t.Context(), "g") }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go c.Join(ctx, newcomer("g", "lost"))
		require.Equal(t, coordinator.NonEmptyGroup, <-removed)
		cancel()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.NotNil(t, last)
		require.Len(t, c.List(t.Context(), coordinator.Filter{States: []string{"Empty"}}), 1)
	})
}

// Close lets saves finish, unless its context ends before; timers are stopped.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		saved := 0
		c := New(quick(), Kept(func(ctx context.Context, _ string, state []byte) error {
			select {
			case <-time.After(time.Second):
				saved++
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
		c.Run()
		a := stable(t, c, "g")
		go c.Leave(t.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}})
		synctest.Wait()
		c.Close(context.Background())
		require.Equal(t, 3, saved)
		require.Nil(t, c.groups["g"].timer)
		require.Equal(t, coordinator.CoordinatorNotAvailable, c.Join(t.Context(), newcomer("g", "late")).Code, "nothing is saved any more")

		c = New(quick(), Kept(func(ctx context.Context, _ string, state []byte) error { <-ctx.Done(); return ctx.Err() }))
		code := make(chan coordinator.Code, 1)
		go func() { code <- c.Join(t.Context(), newcomer("g", "a")).Code }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c.Close(ctx)
		require.Equal(t, coordinator.CoordinatorNotAvailable, <-code)
		require.Error(t, ctx.Err())
	})
}

// TestManyKept is TestMany with groups that are kept and saves that fail.
func TestManyKept(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.MaxGroups, cfg.MaxTotalMembers = 6, 30
	var n sync.Mutex
	count := 0
	c := kept(t, cfg, func(context.Context, string, []byte) error {
		n.Lock()
		defer n.Unlock()
		if count++; count%7 == 0 {
			return errors.New("unlucky")
		}
		return nil
	})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { wander(t, c, i) })
	}
	wg.Wait()
	for _, l := range c.List(t.Context(), coordinator.Filter{}) {
		d, err := c.Describe(t.Context(), []string{l.Group}, coordinator.Bill{Limit: 1 << 30, Price: func(coordinator.Lengths) int64 { return 0 }})
		require.NoError(t, err)
		for _, m := range d[0].Members {
			c.Leave(t.Context(), l.Group, []coordinator.Identity{{MemberID: m.MemberID}})
		}
		require.Eventually(t, func() bool { return c.Remove(t.Context(), l.Group) != coordinator.CoordinatorNotAvailable }, time.Minute, time.Millisecond)
	}
	require.Eventually(t, func() bool { return len(c.IDs()) == 0 }, time.Minute, time.Millisecond)
	requireClean(t, c)
}

// Not parallel: it looks at the heap, which the other tests use too.
func TestEmptyGroupsAreSmall(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 2000
	c := kept(t, quick(), nowhere)
	before := heap()
	for i := range n {
		id := fmt.Sprintf("group-%06d", i)
		for range 5 { // so that it has a history
			leave(t, c, id, stable(t, c, id).MemberID)
		}
	}
	each := (int64(heap()) - int64(before)) / n
	t.Logf("%d bytes a group", each)
	require.Less(t, each, int64(1024))
	runtime.KeepAlive(c)
}

// BenchmarkListKept is ListGroups of 10,000 empty groups and 1,000 live ones.
func BenchmarkListKept(b *testing.B) {
	c := kept(b, quick(), nowhere)
	for i := range 11_000 {
		id := fmt.Sprintf("group-%06d", i)
		if a := stable(b, c, id); i%11 > 0 {
			leave(b, c, id, a.MemberID)
		}
	}
	require.Equal(b, 10_000, c.Count().Groups[coordinator.Empty])
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, c.List(b.Context(), coordinator.Filter{}), 11_000)
	}
}
