package host

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// groups returns a coordinator with n stable groups of one member, and their ids.
func groups(b *testing.B, n int) (*Host, []string, []string) {
	c := New(quick())
	ids, members := make([]string, n), make([]string, n)
	for i := range n {
		r := newcomer(fmt.Sprintf("group-%06d", i), "consumer")
		j := c.Join(b.Context(), r)
		s := c.Sync(b.Context(), coordinator.SyncRequest{
			Group: r.Group, MemberID: j.MemberID, Generation: 1,
			Assignments: []coordinator.Assignment{{MemberID: j.MemberID, Data: make([]byte, 40)}},
		})
		require.Equal(b, coordinator.None, s.Code)
		ids[i], members[i] = r.Group, j.MemberID
	}
	return c, ids, members
}

func BenchmarkList10000(b *testing.B) {
	c, ids, _ := groups(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, c.List(b.Context(), coordinator.Filter{}), len(ids))
	}
}

func BenchmarkDescribe10000(b *testing.B) {
	c, ids, _ := groups(b, 10_000)
	bill := coordinator.Bill{Limit: 1 << 30, Price: func(l coordinator.Lengths) int64 { return l.MemberIDs.Legacy(2) + l.Metadata.Legacy(4) }}
	b.ReportAllocs()
	for b.Loop() {
		d, err := c.Describe(b.Context(), ids, bill)
		require.NoError(b, err)
		require.Len(b, d, len(ids))
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	c, ids, members := groups(b, 1000)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			n := i % len(ids)
			if c.Heartbeat(context.Background(), coordinator.HeartbeatRequest{Group: ids[n], MemberID: members[n], Generation: 1}) != coordinator.None {
				b.Error("refused")
			}
		}
	})
}

// BenchmarkJoin brings n members of one group from nothing to Stable.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cfg := coordinator.DefaultConfig()
				cfg.InitialRebalanceDelay = time.Minute // ended by hand, below
				clock := &manualClock{now: time.Unix(0, 0), alarms: map[int]alarm{}}
				c := New(cfg, WithClock(clock))
				var parked, stable sync.WaitGroup
				parked.Add(n)
				for range n {
					stable.Go(func() {
						r := newcomer("g", "consumer")
						parked.Done()
						j := c.Join(b.Context(), r)
						var list []coordinator.Assignment
						for _, m := range j.Members {
							list = append(list, coordinator.Assignment{MemberID: m.MemberID, Data: []byte("partition")})
						}
						s := c.Sync(b.Context(), coordinator.SyncRequest{Group: "g", MemberID: j.MemberID, Generation: j.Generation, Assignments: list})
						if s.Code != coordinator.None || len(s.Assignment) == 0 {
							b.Error(j.Code, s.Code)
						}
					})
				}
				parked.Wait()
				for c.totals.members.Load() < int64(n) {
					time.Sleep(50 * time.Microsecond)
				}
				clock.move(time.Minute)
				clock.move(0)
				stable.Wait()
			}
		})
	}
}
