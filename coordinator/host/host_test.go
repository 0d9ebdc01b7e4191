package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newcomer(group, client string) coordinator.JoinRequest {
	return coordinator.JoinRequest{
		Group: group, ClientID: client, SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte("topics")}},
	}
}

func quick() coordinator.Config {
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	return cfg
}

// requireClean requires that nothing is left: no group, nothing counted.
func requireClean(t *testing.T, c *Host) {
	t.Helper()
	require.Empty(t, c.groups)
	require.Zero(t, c.totals.members.Load())
	require.Zero(t, c.totals.bytes.Load())
}

// Not parallel: it looks at the heap, which the other tests use too.
func TestLostNewcomersLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(coordinator.DefaultConfig())
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		lose := func(n int) {
			for range n {
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() {
					require.Equal(t, coordinator.NotCoordinator, c.Join(ctx, newcomer("g", "x")).Code)
				})
				synctest.Wait()
				require.EqualValues(t, 1, c.totals.members.Load())
				cancel()
				done.Wait()
				requireClean(t, c)
			}
		}
		lose(100)
		before := heap()
		lose(10_000)
		require.Less(t, int64(heap())-int64(before), int64(1<<20))
	})
}

func TestCutCallsOfALivingGroupAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(quick())
		a := c.Join(t.Context(), newcomer("g", "a"))
		require.Equal(t, coordinator.None, c.Sync(t.Context(), coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, Generation: 1}).Code)
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { c.Join(ctx, newcomer("g", "b")) })
			synctest.Wait()
			require.Len(t, c.groups["g"].waiting, 1)
			require.NotNil(t, c.groups["g"].timer)
			cancel()
			done.Wait()
			require.Empty(t, c.groups["g"].waiting)
			require.Nil(t, c.groups["g"].timer, "nobody waits")
		}
		c.Leave(t.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}})
		requireClean(t, c)
	})
}

// The gateway ends the context of every parked call when it shuts down; each is
// answered, and no timer is left to fire.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(coordinator.DefaultConfig())
		ctx, drain := context.WithCancel(t.Context())
		codes := make(chan coordinator.Code, 100)
		for i := range 100 {
			r := newcomer(fmt.Sprint("g", i%10), "a")
			if i%2 == 0 {
				r.InstanceID = &[]string{fmt.Sprint("i", i)}[0]
			}
			go func() { codes <- c.Join(ctx, r).Code }()
		}
		synctest.Wait()
		require.Empty(t, codes)
		drain()
		synctest.Wait()
		require.Len(t, codes, 100)
		for range 100 {
			require.Equal(t, coordinator.NotCoordinator, <-codes)
		}
		for _, e := range c.groups {
			require.Nil(t, e.timer)
		}
	})
}

// manualClock is moved by hand.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms map[int]alarm
	last   int
}

type alarm struct {
	at time.Time
	f  func()
}

func (m *manualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	n := m.last
	m.alarms[n] = alarm{m.now.Add(d), f}
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		_, ok := m.alarms[n]
		delete(m.alarms, n)
		return ok
	}
}

func (m *manualClock) move(d time.Duration) {
	m.mu.Lock()
	m.now = m.now.Add(d)
	var due []func()
	for n, a := range m.alarms {
		if !a.at.After(m.now) {
			due = append(due, a.f)
			delete(m.alarms, n)
		}
	}
	m.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func TestWithClock(t *testing.T) {
	t.Parallel()
	clock := &manualClock{now: time.Unix(0, 0), alarms: map[int]alarm{}}
	c := New(coordinator.DefaultConfig(), WithClock(clock), WithMemberIDs(func(r coordinator.JoinRequest) string { return r.ClientID + "!" }))
	done := make(chan coordinator.JoinResult)
	synctest.Test(t, func(t *testing.T) { // only to know when the call is parked
		go func() { done <- c.Join(t.Context(), newcomer("g", "a")) }()
		synctest.Wait()
		clock.move(3 * time.Second)
		require.Equal(t, "a!", (<-done).MemberID)
	})
	require.Empty(t, clock.alarms)
	clock.move(10*time.Second - 1)
	r := coordinator.HeartbeatRequest{Group: "g", MemberID: "a!", Generation: 1}
	require.Equal(t, coordinator.None, c.Heartbeat(t.Context(), r))
	clock.move(10 * time.Second)
	require.Equal(t, coordinator.UnknownMemberID, c.Heartbeat(t.Context(), r))
	requireClean(t, c)
}

// TestMany runs clients of several groups at once, in real time, for the race
// detector. Whatever happens, afterwards all members can leave and nothing is
// left.
func TestMany(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.MaxGroups, cfg.MaxTotalMembers = 6, 30
	c := New(cfg)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { wander(t, c, i) })
	}
	ctx := t.Context()
	for range 200 {
		c.List(ctx, coordinator.Filter{})
		_, err := c.Describe(ctx, []string{"g0", "g1", "g2", "none"}, coordinator.Bill{Limit: 1 << 30, Price: func(l coordinator.Lengths) int64 { return l.Metadata.Bytes }})
		require.NoError(t, err)
	}
	wg.Wait()
	for _, l := range c.List(ctx, coordinator.Filter{}) {
		d, err := c.Describe(ctx, []string{l.Group}, coordinator.Bill{Limit: 1 << 30, Price: func(coordinator.Lengths) int64 { return 0 }})
		require.NoError(t, err)
		for _, m := range d[0].Members {
			_, codes := c.Leave(ctx, l.Group, []coordinator.Identity{{MemberID: m.MemberID}})
			require.Equal(t, []coordinator.Code{coordinator.None}, codes)
		}
	}
	requireClean(t, c)
}

// wander is one client that joins, syncs, heartbeats, gives up and leaves.
func wander(t *testing.T, c *Host, seed int) {
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	for range 60 {
		group := fmt.Sprint("g", rnd.IntN(8))
		patience, cancel := context.WithTimeout(t.Context(), time.Duration(1+rnd.IntN(5))*time.Millisecond)
		r := newcomer(group, "x")
		if rnd.IntN(3) == 0 {
			r.InstanceID = &[]string{fmt.Sprint("i", rnd.IntN(4))}[0]
		}
		j := c.Join(patience, r)
		if j.Code == coordinator.None {
			var list []coordinator.Assignment
			for _, m := range j.Members {
				list = append(list, coordinator.Assignment{MemberID: m.MemberID, Data: make([]byte, 100)})
			}
			c.Sync(patience, coordinator.SyncRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation, Assignments: list})
			h := coordinator.HeartbeatRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation}
			c.Heartbeat(patience, h)
			c.CheckCommit(patience, h)
			if rnd.IntN(4) > 0 {
				c.Leave(patience, group, []coordinator.Identity{{MemberID: j.MemberID}})
			}
		}
		cancel()
	}
}

func TestLimitsHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.MaxGroups, cfg.MaxTotalMembers, cfg.MemoryBudget = 50, 40, 30*4000
	c := New(cfg)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			r := newcomer(fmt.Sprint("g", i), "x")
			r.Protocols[0].Metadata = make([]byte, 2000)
			code := c.Join(t.Context(), r).Code
			require.Contains(t, []coordinator.Code{coordinator.None, coordinator.CoordinatorNotAvailable}, code)
			require.LessOrEqual(t, c.totals.members.Load(), int64(cfg.MaxTotalMembers))
			require.LessOrEqual(t, c.totals.bytes.Load(), cfg.MemoryBudget)
		})
	}
	wg.Wait()
	require.NotEmpty(t, c.groups)
	require.LessOrEqual(t, len(c.groups), 40)
}

// A flood of joins that find no room ticks all groups once a second, not once a
// join; a second later what has expired makes room again.
func TestSweepsAreRare(t *testing.T) {
	t.Parallel()
	clock := &manualClock{now: time.Unix(100, 0), alarms: map[int]alarm{}}
	cfg := coordinator.DefaultConfig()
	cfg.MaxGroups, cfg.InitialRebalanceDelay = 1, 0
	c := New(cfg, WithClock(clock))
	require.Equal(t, coordinator.None, c.Join(t.Context(), newcomer("g", "a")).Code) // its session lasts 10 s
	full := func() coordinator.Code { return c.Join(t.Context(), newcomer("other", "b")).Code }
	require.Equal(t, coordinator.CoordinatorNotAvailable, full())
	swept := c.swept
	clock.move(sweepPause - 1)
	require.Equal(t, coordinator.CoordinatorNotAvailable, full())
	require.Equal(t, swept, c.swept)
	clock.move(10 * time.Second)
	require.Equal(t, coordinator.None, full(), "the sweep finds the expired group")
	require.Equal(t, clock.now, c.swept)
}
