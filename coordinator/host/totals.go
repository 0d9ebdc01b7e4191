package host

import (
	"slices"
	"sync/atomic"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// totals counts over all groups.
type totals struct {
	members    atomic.Int64
	bytes      atomic.Int64
	rebalances atomic.Uint64
	groups     [len(states)]atomic.Int64
}

// states are those that a group can be in.
var states = [...]coordinator.State{
	coordinator.Empty, coordinator.PreparingRebalance, coordinator.CompletingRebalance, coordinator.Stable,
}

// reserve sets aside what a request may add, and returns what it got: all of it,
// or nothing. A request that adds nothing may go on with nothing.
func (t *totals) reserve(cfg *coordinator.Config, u group.Usage) group.Usage {
	if !take(&t.members, int64(u.Members), int64(cfg.MaxTotalMembers)) {
		return group.Usage{}
	}
	if !take(&t.bytes, u.Bytes, cfg.MemoryBudget) {
		t.members.Add(-int64(u.Members))
		return group.Usage{}
	}
	return u
}

// take adds n to a counter unless that would pass the limit.
func take(counter *atomic.Int64, n, limit int64) bool {
	for {
		old := counter.Load()
		if n > 0 && old+n > limit {
			return false
		}
		if counter.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// settle books what a group really grew by in place of what was set aside, and
// the state it is in now.
func (t *totals) settle(reserved group.Usage, before, after group.Mark) {
	t.add(group.Usage{
		Members: after.Usage.Members - before.Usage.Members - reserved.Members,
		Bytes:   after.Usage.Bytes - before.Usage.Bytes - reserved.Bytes,
	})
	t.rebalances.Add(uint64(after.Rebalances - before.Rebalances))
	if before.State != after.State {
		t.in(before.State, -1)
		t.in(after.State, 1)
	}
}

func (t *totals) add(u group.Usage) {
	t.members.Add(int64(u.Members))
	t.bytes.Add(u.Bytes)
}

// in counts a group into a state, or out of it. Dead groups are none.
func (t *totals) in(s coordinator.State, n int64) {
	if i := slices.Index(states[:], s); i >= 0 {
		t.groups[i].Add(n)
	}
}

// count reads the counters.
func (t *totals) count() coordinator.Counts {
	counts := coordinator.Counts{
		Groups:     make(map[coordinator.State]int, len(states)),
		Members:    int(t.members.Load()),
		Bytes:      t.bytes.Load(),
		Rebalances: t.rebalances.Load(),
	}
	for i, s := range states {
		counts.Groups[s] = int(t.groups[i].Load())
	}
	return counts
}
