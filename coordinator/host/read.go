package host

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Describe shows groups; see [coordinator.Describer]. Each group is seen as it
// is at one moment, but not all at the same one. The first pass ticks and adds up
// prices, from stored lengths; only when the whole fits does the second one copy.
// In between no lock is held, so the second pass prices again.
func (c *Host) Describe(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
	ids = distinct(ids)
	var sum int64
	prices, entries := make([]int64, len(ids)), make([]*entry, len(ids))
	for i, id := range ids {
		entries[i] = c.lookup(id)
		prices[i] = b.Price(c.lengths(id, entries[i]))
		if sum += prices[i]; sum > b.Limit {
			return nil, coordinator.ErrTooLarge
		}
	}
	if b.Reserve != nil {
		if err := b.Reserve(ctx, sum); err != nil {
			return nil, err
		}
	}
	out := make([]coordinator.Description, len(ids))
	for i, id := range ids {
		d, ok := c.describe(id, entries[i], func(l coordinator.Lengths) bool { // it may have grown since
			sum += b.Price(l) - prices[i]
			return sum <= b.Limit
		})
		if !ok {
			return nil, coordinator.ErrTooLarge
		}
		out[i] = d
	}
	return out, nil
}

// lengths ticks a group and returns what it is priced by. The entry is locked,
// or nil if there is no group; it is unlocked.
func (c *Host) lengths(id string, e *entry) coordinator.Lengths {
	if e == nil {
		return c.machine(id).Lengths()
	}
	before := e.machine.Mark()
	effects := e.machine.Tick(c.clock.Now())
	lengths := e.machine.Lengths()
	c.release(e, before, group.Usage{}, effects)
	return lengths
}

// describe copies a group that fits, without a tick. The entry is the one that
// was found before, if any.
func (c *Host) describe(id string, e *entry, fits func(coordinator.Lengths) bool) (coordinator.Description, bool) {
	if e = c.relock(id, e); e == nil {
		absent := c.machine(id)
		return absent.Describe(), fits(absent.Lengths())
	}
	defer e.mu.Unlock()
	if !fits(e.machine.Lengths()) {
		return coordinator.Description{}, false
	}
	return e.machine.Describe(), true
}

// entries returns all entries, in no order.
func (c *Host) entries() []*entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*entry, 0, len(c.groups))
	for _, e := range c.groups {
		out = append(out, e)
	}
	return out
}

// sweepPause is the least time between two sweeps. Sessions last for seconds, so
// what expires sooner can wait that long, and a flood of joins that find no room
// does not tick every group for each of them.
const sweepPause = time.Second

// sweep ticks all groups, to find room, unless that was done just now. Requests
// that need room at the same time share one sweep.
func (c *Host) sweep() {
	_, _, _ = c.sweeps.Do("", func() (any, error) {
		// Do runs one of these at a time, which is what guards swept.
		now := c.clock.Now()
		if !c.swept.IsZero() && now.Sub(c.swept) < sweepPause {
			return nil, nil
		}
		c.swept = now
		for _, e := range c.entries() {
			e.mu.Lock()
			if e.gone {
				e.mu.Unlock()
				continue
			}
			c.tick(e)
		}
		return nil, nil
	})
}

// accepts reports that a filter lets a value pass.
func accepts(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), value)
	})
}

// distinct returns the ids in the order of their first appearance.
func distinct(ids []string) []string {
	seen := make(map[string]struct{}, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, ok := seen[id]; !ok {
			seen[id] = struct{}{}
			out = append(out, id)
		}
	}
	return out
}

// History returns the group's last rebalances; see [coordinator.Historian].
func (c *Host) History(_ context.Context, id string) []coordinator.Rebalance {
	e := c.lookup(id)
	if e == nil {
		return nil
	}
	defer e.mu.Unlock()
	return e.machine.History()
}

// Count counts over all groups; see [coordinator.Counter].
func (c *Host) Count() coordinator.Counts { return c.totals.count() }

// IDs returns the ids of all groups, in no order.
func (c *Host) IDs() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]string, 0, len(c.groups))
	for id := range c.groups {
		out = append(out, id)
	}
	return out
}

// Look calls with for a group, under its lock, if it is there.
func (c *Host) Look(id string, with func(*group.Group)) {
	if e := c.lookup(id); e != nil {
		defer e.mu.Unlock()
		with(e.machine)
	}
}
