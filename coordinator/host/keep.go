package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Save stores the state of a group in place of what was stored; nil forgets it.
type Save func(ctx context.Context, group string, state []byte) error

// Kept has the host keep groups: they outlive their members, by the rules of
// [group.NewKept], their deadlines pass by a timer each from [Host.Run] on, and
// their state is saved. Client identities are retained unless the configuration
// says otherwise.
//
// # Saves
//
// What a step leaves unsaved is saved in a goroutine, and the answers of the step
// wait for it, as do those of later steps that tell of a generation. Heartbeats and
// commits pass. So nobody ever acts on a generation that is not stored: after a
// crash no number comes again with other members. (Kafka stores a generation when
// its leader has synced. Here it is stored also when it begins.)
//
// Saves of one group are made one after the other; while one is made, the next is
// replaced by what comes later. When a save fails, the answers that waited become
// COORDINATOR_NOT_AVAILABLE and a generation that began or got its assignments
// ends with a new rebalance, as in Kafka. That a group became empty is tried again
// until it is stored.
func Kept(save Save) Option {
	return func(h *Host) {
		ctx, cancel := context.WithCancel(context.Background())
		h.keeper = &keeper{save: save, ctx: ctx, cancel: cancel, closing: make(chan struct{})}
	}
}

// keeper saves the groups of a host.
type keeper struct {
	save    Save
	ctx     context.Context // of the saves
	cancel  context.CancelFunc
	running atomic.Bool // deadlines pass by timers

	mu      sync.Mutex
	closed  bool
	closing chan struct{} // closed with it
	savers  sync.WaitGroup
}

// runs reports that deadlines pass by themselves.
func (k *keeper) runs() bool { return k != nil && k.running.Load() }

// start runs a saver, unless the host is closed.
func (k *keeper) start(saver func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.savers.Go(saver)
	}
	return !k.closed
}

// Restore takes in a group as it was saved; see [group.Restore]. It is for groups
// that the host does not have, before [Host.Run]. Limits are not looked at: what
// was there is there. Of a state that cannot be read only the group's name is
// taken in, and the error says so.
func (c *Host) Restore(id string, state []byte) error {
	g, err := group.Restore(id, &c.cfg, state, c.clock.Now())
	if err != nil {
		g, _ = group.Restore(id, &c.cfg, nil, c.clock.Now())
	}
	before := group.Mark{State: coordinator.Dead, Rebalances: g.Mark().Rebalances}
	c.totals.settle(group.Usage{}, before, g.Mark())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups[id] = &entry{id: id, machine: g, stored: len(state) > 0}
	c.moved()
	c.listings.changed()
	return err
}

// Reset drops what was restored, before [Host.Run].
func (c *Host) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.groups {
		dead := group.Mark{State: coordinator.Dead, Rebalances: e.machine.Mark().Rebalances}
		c.totals.settle(group.Usage{}, e.machine.Mark(), dead)
	}
	clear(c.groups)
	c.moved()
	c.listings.changed()
}

// Run lets time pass for kept groups: from now on their deadlines end sessions
// and rebalances.
func (c *Host) Run() {
	c.keeper.running.Store(true)
	for _, e := range c.entries() {
		e.mu.Lock()
		c.arm(e)
		e.mu.Unlock()
	}
}

// Close stops all timers and waits for the saves under way, but not longer than
// ctx lasts: then they are cut off. Afterwards nothing is saved any more.
func (c *Host) Close(ctx context.Context) {
	k := c.keeper
	k.running.Store(false)
	for _, e := range c.entries() {
		e.mu.Lock()
		c.arm(e)
		e.mu.Unlock()
	}
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
	}
	k.mu.Unlock()
	stop := context.AfterFunc(ctx, k.cancel)
	k.savers.Wait()
	stop()
	k.cancel()
}

// Pauses before a save that failed is tried again: each is twice the one before.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// pause waits before the next try: until its time, or until there is more to save,
// or until the host is closed.
func (c *Host) pause(s *saves) {
	d := longestPause
	if n := s.failed - 1; n < 6 { // 2⁶ s is more than the longest
		d = firstPause << n
	}
	over := make(chan struct{})
	stop := c.clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
	case <-s.more:
	case <-c.keeper.closing:
	}
}
