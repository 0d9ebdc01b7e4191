package host

import (
	"context"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// saves is what is to be saved of one entry. It is guarded by the entry's lock.
type saves struct {
	now    *save // under way
	next   *save // waits for it, and is replaced by what comes later
	failed int   // in a row
	more   chan struct{}
}

// save is one state to save, and who waits for it.
type save struct {
	state      []byte // nil: none is kept any more
	unsaved    group.Unsaved
	generation int32
	held       []group.Effect
	removals   []chan<- coordinator.Code
}

// last returns the newest save that is not done, or nil.
func (s *saves) last() *save {
	if s == nil || s.next == nil && s.now == nil {
		return nil
	}
	if s.next != nil {
		return s.next
	}
	return s.now
}

// tells reports that an answer tells of a generation: it must not be given before
// that is saved.
func tells(eff group.Effect) bool {
	return eff.Join.Generation > 0 || eff.Sync.ProtocolType != ""
}

// waits reports that an answer has to wait for a save: it tells of a generation,
// or it is the answer to a Leave that emptied the group.
func (c *Host) waits(e *entry, eff group.Effect) bool {
	if c.keeper == nil {
		return false
	}
	spoiled := e.machine.Spoiled()
	return spoiled && len(eff.Codes) > 0 || (spoiled || e.saves.last() != nil) && tells(eff)
}

// hold has the step of a locked entry saved if it has to be. It returns the answers
// that may be given now, and keeps the others.
func (c *Host) hold(e *entry, effects []group.Effect) []group.Effect {
	if c.keeper == nil {
		return effects
	}
	var now, held []group.Effect
	for _, eff := range effects {
		if c.waits(e, eff) {
			held = append(held, eff)
		} else {
			now = append(now, eff)
		}
	}
	if unsaved := e.machine.Unsaved(); unsaved != group.Saved {
		c.enqueue(e, e.machine.Snapshot(), unsaved)
	}
	if s := e.saves.last(); s != nil {
		s.held = append(s.held, held...)
		return now
	}
	return append(now, refusals(held)...) // nothing is saved any more
}

// enqueue has a state of a locked entry saved after what is being saved. It
// returns nil when the host is closed.
func (c *Host) enqueue(e *entry, state []byte, unsaved group.Unsaved) *save {
	fresh := e.saves == nil
	if fresh {
		if !c.keeper.start(func() { c.saver(e) }) {
			return nil
		}
		e.saves = &saves{more: make(chan struct{}, 1)}
	}
	if e.saves.next == nil {
		e.saves.next = &save{}
	}
	s := e.saves.next
	s.state, s.unsaved, s.generation = state, max(s.unsaved, unsaved), e.machine.Generation()
	select {
	case e.saves.more <- struct{}{}:
	default:
	}
	return s
}

// saver saves what there is to save of an entry, until there is no more.
func (c *Host) saver(e *entry) {
	for {
		e.mu.Lock()
		s := e.saves.next
		if s == nil {
			e.saves = nil
			c.release(e, e.machine.Mark(), group.Usage{}, nil)
			return
		}
		e.saves.now, e.saves.next = s, nil
		e.stored = true // or not, when it fails: nobody knows
		e.mu.Unlock()
		err := c.keeper.save(c.keeper.ctx, e.id, s.state)
		e.mu.Lock()
		e.saves.now = nil
		if err == nil {
			e.saves.failed = 0
			c.saved(e, s)
			continue
		}
		e.saves.failed++
		again := c.unsaved(e, s)
		if again != nil {
			c.pause(again)
		}
	}
}

// saved settles a save of a locked entry that is done, and unlocks it.
func (c *Host) saved(e *entry, s *save) {
	before := e.machine.Mark()
	code := coordinator.NonEmptyGroup
	if s.state == nil {
		e.stored = false
		switch {
		case e.saves.next != nil && e.saves.next.state != nil: // it goes on
		case e.machine.Idle():
			e.machine.Forget()
			code = coordinator.None
		default: // somebody came just now, and the generation must not go back
			c.enqueue(e, e.machine.Snapshot(), group.Changed)
		}
	}
	for _, eff := range s.held {
		e.answer(eff)
	}
	c.release(e, before, group.Usage{}, nil)
	// Not before: who is told looks at a list next, and must not find the group.
	for _, ch := range s.removals {
		ch <- code // has room for it
	}
}

// unsaved settles a save of a locked entry that failed, and unlocks it. What has
// to be tried again, it returns.
func (c *Host) unsaved(e *entry, s *save) (again *saves) {
	for _, ch := range s.removals {
		ch <- coordinator.CoordinatorNotAvailable
	}
	for _, eff := range refusals(s.held) {
		e.answer(eff)
	}
	before := e.machine.Mark()
	var effects []group.Effect
	if s.unsaved == group.Generation {
		effects = e.machine.Step(c.clock.Now(), group.SaveFailed{Generation: s.generation})
	}
	// Of a group with members the next generation will be saved. An empty one has
	// nothing else to come; should the gateway end before it is stored, its last
	// members are found again, and end with their sessions.
	if s.state != nil && e.saves.next == nil && e.machine.Idle() && !e.machine.Empty() && c.open() {
		e.saves.next = &save{state: e.machine.Snapshot(), unsaved: group.Changed, generation: e.machine.Generation()}
		again = e.saves
	}
	c.release(e, before, group.Usage{}, effects)
	return again
}

// open reports that the host is not closed.
func (c *Host) open() bool {
	select {
	case <-c.keeper.closing:
		return false
	default:
		return true
	}
}

// refusals are what is answered in place of what could not be saved: a code that
// has clients try again. A Leave has happened all the same.
func refusals(held []group.Effect) []group.Effect {
	out := make([]group.Effect, len(held))
	for i, eff := range held {
		switch {
		case eff.Join.Generation > 0:
			eff.Join = coordinator.JoinResult{Code: coordinator.CoordinatorNotAvailable, MemberID: eff.Join.MemberID}
		case eff.Sync.ProtocolType != "":
			eff.Sync = coordinator.SyncResult{Code: coordinator.CoordinatorNotAvailable}
		}
		out[i] = eff
	}
	return out
}

// Remove forgets a group without members; see [coordinator.Remover]. Where groups
// are kept, it answers when the saved state is gone, or CoordinatorNotAvailable
// when that could not be done, and then the group is still there. Somebody who
// joins meanwhile saves it: NonEmptyGroup.
func (c *Host) Remove(ctx context.Context, id string) coordinator.Code {
	return c.RemoveIf(ctx, id, func(*group.Group) bool { return true })
}

// RemoveIf removes a group if, at that moment, it is one for which yes is true;
// else it answers NonEmptyGroup.
func (c *Host) RemoveIf(ctx context.Context, id string, yes func(*group.Group) bool) coordinator.Code {
	e := c.lookup(id)
	if e == nil {
		return coordinator.GroupIDNotFound
	}
	c.tick(e)
	if e = c.lookup(id); e == nil {
		return coordinator.GroupIDNotFound
	}
	switch {
	case e.machine.Empty(): // it is being forgotten
		e.mu.Unlock()
		return coordinator.GroupIDNotFound
	case !e.machine.Idle() || !yes(e.machine):
		e.mu.Unlock()
		return coordinator.NonEmptyGroup
	case !e.stored && e.saves == nil:
		before := e.machine.Mark()
		e.machine.Forget()
		c.release(e, before, group.Usage{}, nil)
		return coordinator.None
	}
	s := c.enqueue(e, nil, group.Changed)
	if s == nil {
		e.mu.Unlock()
		return coordinator.NotCoordinator
	}
	done := make(chan coordinator.Code, 1)
	s.removals = append(s.removals, done)
	e.mu.Unlock()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		return coordinator.NotCoordinator
	}
}
