package memory

import (
	"sync/atomic"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// totals counts members and bytes over all groups.
type totals struct {
	members atomic.Int64
	bytes   atomic.Int64
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

// settle books what a group really grew by in place of what was set aside.
func (t *totals) settle(reserved, before, after group.Usage) {
	t.add(group.Usage{
		Members: after.Members - before.Members - reserved.Members,
		Bytes:   after.Bytes - before.Bytes - reserved.Bytes,
	})
}

func (t *totals) add(u group.Usage) {
	t.members.Add(int64(u.Members))
	t.bytes.Add(u.Bytes)
}
