package host

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/iggykafka/gateway/coordinator"
)

// listings is what List shows without a filter, kept until a group changes. Most
// lists are asked for by tools that look again and again at groups that did not.
type listings struct {
	changes atomic.Uint64 // of what a listing shows
	last    atomic.Pointer[listed]
}

// listed is every group as it was at some number of changes.
type listed struct {
	changes uint64
	all     []coordinator.Listing
}

// changed says that a list would show something else. It is called under the lock
// of the group that did it, before anybody is told of it.
func (l *listings) changed() {
	l.changes.Add(1)
	if l.last.Load() != nil {
		l.last.Store(nil)
	}
}

// get returns what is kept, if it is what a list would show.
func (l *listings) get() ([]coordinator.Listing, bool) {
	if last := l.last.Load(); last != nil && last.changes == l.changes.Load() {
		return last.all, true
	}
	return nil, false
}

// put keeps what was listed since a number of changes was read, if there are no more.
func (l *listings) put(changes uint64, all []coordinator.Listing) {
	l.last.Store(&listed{changes, all})
	if l.changes.Load() != changes {
		l.last.Store(nil)
	}
}

// List shows every group that passes the filter; see [coordinator.Lister]. Nothing
// is ticked: reading must not open rebalances.
func (c *Host) List(_ context.Context, f coordinator.Filter) []coordinator.Listing {
	if !accepts(f.Types, coordinator.TypeClassic) {
		return nil
	}
	all, ok := c.listings.get()
	if !ok {
		all = c.list()
	}
	if len(f.States) == 0 {
		return all
	}
	out := make([]coordinator.Listing, 0, len(all))
	passes := map[coordinator.State]bool{} // a filter may be long: it is read once a state, not once a group
	for _, l := range all {
		pass, known := passes[l.State]
		if !known {
			pass = accepts(f.States, string(l.State))
			passes[l.State] = pass
		}
		if pass {
			out = append(out, l)
		}
	}
	return out
}

// list looks at every group. Their locks are taken one after the other, with that
// of the map given back before the first.
func (c *Host) list() []coordinator.Listing {
	changes := c.listings.changes.Load()
	entries := c.sorted()
	all := make([]coordinator.Listing, 0, len(entries))
	for _, e := range entries {
		e.mu.Lock()
		listing, gone := e.machine.List(), e.gone
		e.mu.Unlock()
		if !gone && listing.State != coordinator.Dead {
			all = append(all, listing)
		}
	}
	c.listings.put(changes, all)
	return all
}

// sorted returns all entries by their ids. The order is kept until an entry comes
// or goes: to sort is most of the work.
func (c *Host) sorted() []*entry {
	c.mu.RLock()
	order, moves := c.order, c.moves
	if order == nil {
		order = make([]*entry, 0, len(c.groups))
		for _, e := range c.groups {
			order = append(order, e)
		}
		c.mu.RUnlock()
	} else {
		c.mu.RUnlock()
		return order
	}
	slices.SortFunc(order, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moves == moves {
		c.order = order
	}
	return order
}

// moved says that an entry came into the map or went, of which the caller has the
// lock.
func (c *Host) moved() {
	c.moves++
	c.order = nil
}
