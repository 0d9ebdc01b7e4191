package durable

import (
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// consumer is the protocol type whose metadata says what a member subscribes to.
const consumer = "consumer"

// commitGrace is how long after a commit from outside was let in its group is not
// taken for one without offsets: the offset may still be on its way to the ledger.
const commitGrace = time.Minute

// check looks for offsets whose retention is over, every check interval.
func (c *Coordinator) check() {
	for c.sleep(c.cfg.OffsetsCheckInterval) {
		c.checkAll()
	}
}

// checkAll looks at every group once. No lock is held while the ledger works. It
// gives up at the first failure: the next look will do.
func (c *Coordinator) checkAll() {
	for _, id := range c.host.IDs() {
		if err := c.checkGroup(id); err != nil {
			if c.ctx.Err() == nil {
				c.log.Warn("offsets cannot be checked for their retention; the next try is in "+c.cfg.OffsetsCheckInterval.String(),
					zap.String("group", id), zap.Error(err))
			}
			return
		}
	}
}

// checkGroup removes the offsets of a group that are due, and the group itself if
// it has neither members nor offsets.
func (c *Coordinator) checkGroup(id string) error {
	now := c.clock.Now()
	var due due
	c.host.Look(id, func(g *group.Group) { due = c.due(g, now) })
	if !due.look {
		return nil
	}
	left, err := c.ledger.ExpireOffsets(c.ctx, id, due.before, due.keep)
	if err != nil || left > 0 || !due.idle {
		return err
	}
	code := c.host.RemoveIf(c.ctx, id, func(g *group.Group) bool {
		return g.EmptySince().Equal(due.since) && c.clock.Now().Sub(g.LastCommit()) >= commitGrace
	})
	if code == coordinator.None {
		c.log.Info("a group without members and offsets is gone", zap.String("group", id))
	}
	return nil
}

// due is what a group's offsets are to be looked through for.
type due struct {
	look   bool
	before time.Time               // those committed earlier go
	keep   func(topic string) bool // but for those of these topics
	idle   bool                    // the group goes with the last of them
	since  time.Time               // it became empty
}

// due says which offsets expire (KIP-211):
//
//	no members, protocol type known    each retention after its commit, but none
//	                                   until retention after the last member went
//	no members otherwise               each retention after its commit
//	Stable, of consumers               each retention after its commit, but for those of
//	                                   topics that a member subscribes to
//	all others                         none
//
// Of a group without members Kafka takes all of them retention after the last one
// went, also those that were stored since: by a reset, or, here, while another
// coordinator had the group. They stay.
//
// A member whose subscription cannot be read may subscribe to anything.
func (c *Coordinator) due(g *group.Group, now time.Time) due {
	l := g.List()
	switch {
	case l.State == coordinator.Empty && g.Idle():
		d := due{look: true, idle: true, since: g.EmptySince(), before: now.Add(-c.cfg.OffsetsRetention)}
		if l.ProtocolType != "" && d.since.After(d.before) {
			d.before = time.Unix(0, 0) // only to learn whether there are any
		}
		return d
	case l.State == coordinator.Stable && l.ProtocolType == consumer:
		if topics, ok := subscribed(g.Describe().Members); ok {
			return due{look: true, before: now.Add(-c.cfg.OffsetsRetention), keep: func(topic string) bool { return topics[topic] }}
		}
	}
	return due{}
}
