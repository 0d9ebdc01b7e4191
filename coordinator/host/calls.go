package host

import (
	"context"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Join admits, renews or refuses a member; see [coordinator.Joiner].
func (c *Host) Join(ctx context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
	if code := group.CheckJoin(&c.cfg, r); code != coordinator.None {
		return coordinator.JoinResult{Code: code, MemberID: r.MemberID}
	}
	id, join := r.MemberID, group.Join{Request: r}
	if id == "" {
		join.NewID = c.newID(r)
	}
	t := c.join(join)
	if t.answered && t.effect.Join.Code == coordinator.CoordinatorNotAvailable {
		c.sweep()
		t = c.join(join)
	}
	// From here on nothing of the request is held but the id.
	if eff, ok := c.wait(ctx, t); ok {
		return eff.Join
	}
	return coordinator.JoinResult{Code: coordinator.NotCoordinator, MemberID: id}
}

// join is one try of a Join. Only a newcomer may create the group.
func (c *Host) join(join group.Join) ticket {
	r := join.Request
	var e *entry
	if r.MemberID != "" {
		if e = c.lookup(r.Group); e == nil {
			return c.absent(r.Group, join)
		}
	} else if e = c.create(r.Group); e == nil {
		refusal := coordinator.JoinResult{Code: coordinator.CoordinatorNotAvailable}
		return ticket{answered: true, effect: group.Effect{Join: refusal}}
	}
	join.Room = c.totals.reserve(&c.cfg, join.Cost())
	return c.step(e, join.Room, func(n group.Call) group.Event { join.Call = n; return join })
}

// Sync hands in assignments or waits for one; see [coordinator.Syncer].
func (c *Host) Sync(ctx context.Context, r coordinator.SyncRequest) coordinator.SyncResult {
	t := c.sync(r)
	if t.answered && t.effect.Sync.Code == coordinator.CoordinatorNotAvailable {
		c.sweep()
		t = c.sync(r)
	}
	if eff, ok := c.wait(ctx, t); ok {
		return eff.Sync
	}
	return coordinator.SyncResult{Code: coordinator.NotCoordinator}
}

// sync is one try of a Sync.
func (c *Host) sync(r coordinator.SyncRequest) ticket {
	sync := group.Sync{Request: r}
	e := c.lookup(r.Group)
	if e == nil {
		return c.absent(r.Group, sync)
	}
	sync.Room = c.totals.reserve(&c.cfg, sync.Cost())
	return c.step(e, sync.Room, func(n group.Call) group.Event { sync.Call = n; return sync })
}

// Heartbeat refreshes a session; see [coordinator.Heartbeater].
func (c *Host) Heartbeat(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	return c.ask(ctx, r.Group, func(n group.Call) group.Event { return group.Heartbeat{Call: n, Request: r} }).Code
}

// Leave removes members; see [coordinator.Leaver].
func (c *Host) Leave(ctx context.Context, id string, identities []coordinator.Identity) (coordinator.Code, []coordinator.Code) {
	eff := c.ask(ctx, id, func(n group.Call) group.Event { return group.Leave{Call: n, Identities: identities} })
	return eff.Code, eff.Codes
}

// CheckCommit is the group check of a commit; see [coordinator.CommitChecker].
// Where groups are kept, one from outside makes the group if it is not there.
func (c *Host) CheckCommit(ctx context.Context, r coordinator.HeartbeatRequest) coordinator.Code {
	if c.keeper != nil && r.Generation < 0 {
		code := c.commitOutside(r)
		if code == coordinator.CoordinatorNotAvailable {
			c.sweep()
			code = c.commitOutside(r)
		}
		return code
	}
	return c.ask(ctx, r.Group, func(n group.Call) group.Event { return group.CheckCommit{Call: n, Request: r} }).Code
}

// commitOutside is one try of a commit that may create its group.
func (c *Host) commitOutside(r coordinator.HeartbeatRequest) coordinator.Code {
	commit := group.CheckCommit{Request: r}
	if e := c.lookup(r.Group); e != nil {
		return c.step(e, group.Usage{}, func(n group.Call) group.Event { commit.Call = n; return commit }).effect.Code
	}
	room := c.totals.reserve(&c.cfg, commit.Cost())
	if room.Bytes == 0 {
		return coordinator.CoordinatorNotAvailable
	}
	e := c.create(r.Group)
	if e == nil {
		c.totals.add(group.Usage{Bytes: -room.Bytes})
		return coordinator.CoordinatorNotAvailable
	}
	return c.step(e, room, func(n group.Call) group.Event { commit.Call = n; return commit }).effect.Code
}

// ask applies an event that is never parked. It may wait for a save of what the
// event did; who does not wait for that, gets NotCoordinator.
func (c *Host) ask(ctx context.Context, id string, event func(group.Call) group.Event) group.Effect {
	if e := c.lookup(id); e != nil {
		t := c.step(e, group.Usage{}, event)
		if t.answered {
			return t.effect
		}
		select {
		case eff := <-t.answer:
			return eff
		case <-ctx.Done():
			return group.Effect{Code: coordinator.NotCoordinator}
		}
	}
	return c.absent(id, event(0)).effect
}

// absent answers an event to a group that is not there, as an empty group does.
func (c *Host) absent(id string, event group.Event) ticket {
	effects := c.machine(id).Step(c.clock.Now(), event)
	return ticket{answered: true, effect: effects[0]}
}

// wait returns the answer to a call, or false when ctx ended before it came. Then
// the group learns that nobody waits any more. An answer that was given in the
// same moment counts: the group has acted on it.
func (c *Host) wait(ctx context.Context, t ticket) (group.Effect, bool) {
	if t.answered {
		return t.effect, true
	}
	select {
	case eff := <-t.answer:
		return eff, true
	case <-ctx.Done():
	}
	e := t.entry
	e.mu.Lock()
	if _, waits := e.waiting[t.call]; !waits { // answered in the same moment
		e.mu.Unlock()
		return <-t.answer, true
	}
	delete(e.waiting, t.call)
	before := e.machine.Mark()
	c.release(e, before, group.Usage{}, e.machine.Step(c.clock.Now(), group.Disconnect{Call: t.call}))
	return group.Effect{}, false
}
