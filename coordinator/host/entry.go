package host

import (
	"sync"
	"time"

	"github.com/iggykafka/gateway/coordinator/group"
)

// entry is a group in the map: the machine, its lock, and who waits.
type entry struct {
	id string

	mu      sync.Mutex
	gone    bool // deleted: look up again
	stored  bool // the store may have a state of it
	machine *group.Group
	last    group.Call
	waiting map[group.Call]chan group.Effect
	saves   *saves      // nil while there is nothing to save
	timer   func() bool // stops it; nil if none runs
	wakeAt  time.Time
}

// lookup returns the entry of a group, locked, or nil.
func (c *Host) lookup(id string) *entry {
	for {
		c.mu.RLock()
		e := c.groups[id]
		c.mu.RUnlock()
		if e == nil {
			return nil
		}
		e.mu.Lock()
		if !e.gone {
			return e
		}
		e.mu.Unlock()
	}
}

// relock locks the entry that was found for a group before; or, if that is gone
// or there was none, returns what lookup does.
func (c *Host) relock(id string, e *entry) *entry {
	if e != nil {
		e.mu.Lock()
		if !e.gone {
			return e
		}
		e.mu.Unlock()
	}
	return c.lookup(id)
}

// create returns the entry of a group, locked. It makes one if there is none,
// and returns nil if there must not be one more.
func (c *Host) create(id string) *entry {
	for {
		if e := c.lookup(id); e != nil {
			return e
		}
		e := &entry{id: id, machine: c.machine(id)}
		e.mu.Lock() // before anybody can find it, so that nobody sees it empty
		c.mu.Lock()
		_, taken := c.groups[id]
		full := len(c.groups) >= c.cfg.MaxGroups
		if !taken && !full {
			c.groups[id] = e
			c.moved()
		}
		c.mu.Unlock()
		switch {
		case taken:
			e.mu.Unlock()
		case full:
			return nil
		default:
			return e
		}
	}
}

// release settles a locked entry after a step, and unlocks it. The totals get
// what the group has really grown by; what has to be saved is; answers go to
// whoever waits, each on its own channel, so that a join wakes nobody but those it
// answers; an empty group goes; and the timer runs for the next deadline.
func (c *Host) release(e *entry, before group.Mark, reserved group.Usage, effects []group.Effect) {
	defer e.mu.Unlock()
	if after := e.machine.Mark(); after != before || reserved != (group.Usage{}) {
		c.totals.settle(reserved, before, after)
		if after.State != before.State || after.ProtocolType != before.ProtocolType {
			c.listings.changed()
		}
	}
	for _, eff := range c.hold(e, effects) {
		e.answer(eff)
	}
	if len(e.waiting) == 0 && e.machine.Idle() {
		e.waiting = nil // empty groups are many
	}
	if e.machine.Empty() && !e.gone && e.saves == nil {
		c.drop(e)
	}
	c.arm(e)
}

// answer gives an answer to who waits for it.
func (e *entry) answer(eff group.Effect) {
	if ch, ok := e.waiting[eff.Call]; ok {
		delete(e.waiting, eff.Call)
		ch <- eff // has room for one, and gets only one
	}
}

// drop takes a locked entry out of the map.
func (c *Host) drop(e *entry) {
	e.gone = true
	c.mu.Lock()
	delete(c.groups, e.id)
	c.moved()
	c.mu.Unlock()
}

// arm sets the timer of a locked entry, if it does not stand right. There is one
// for the group, and not one for each call that waits: a deadline is a matter of
// the group, and one tick answers all that it lets go. A heartbeat moves no timer:
// the machine's next deadline is a lower bound, made exact when it has passed.
func (c *Host) arm(e *entry) {
	var next time.Time
	if c.watches(e) {
		next = e.machine.Next()
	}
	if next.Equal(e.wakeAt) {
		return
	}
	if e.timer != nil {
		e.timer()
		e.timer = nil
	}
	e.wakeAt = next
	if !next.IsZero() {
		e.timer = c.clock.AfterFunc(next.Sub(c.clock.Now()), func() { c.wake(e) })
	}
}

// watches reports that a group's deadlines pass by themselves: because somebody
// waits for them, or because groups are kept, and end as they do in Kafka.
func (c *Host) watches(e *entry) bool {
	return !e.gone && (e.machine.Parked() > 0 || c.keeper.runs())
}

// wake ticks a group whose deadline has come.
func (c *Host) wake(e *entry) {
	e.mu.Lock()
	if !c.watches(e) {
		e.mu.Unlock()
		return
	}
	e.wakeAt = time.Time{} // this timer is spent
	c.tick(e)
}

// tick ticks a locked entry and unlocks it.
func (c *Host) tick(e *entry) {
	before := e.machine.Mark()
	c.release(e, before, group.Usage{}, e.machine.Tick(c.clock.Now()))
}

// ticket stands for a call: either its answer is there, or it is parked.
type ticket struct {
	answered bool
	effect   group.Effect

	entry  *entry
	call   group.Call
	answer <-chan group.Effect
}

// step applies an event, made with a new call number, to a locked entry and
// unlocks it. The answer may be there at once; otherwise it comes when the group
// gives it and what it tells of is saved.
func (c *Host) step(e *entry, reserved group.Usage, event func(group.Call) group.Event) ticket {
	e.last++
	t := ticket{entry: e, call: e.last}
	before := e.machine.Mark()
	effects := e.machine.Step(c.clock.Now(), event(t.call))
	for _, eff := range effects {
		if eff.Call == t.call && !c.waits(e, eff) {
			t.answered, t.effect = true, eff
		}
	}
	if !t.answered {
		ch := make(chan group.Effect, 1)
		if e.waiting == nil {
			e.waiting = make(map[group.Call]chan group.Effect)
		}
		e.waiting[t.call], t.answer = ch, ch
	}
	c.release(e, before, reserved, effects)
	return t
}
