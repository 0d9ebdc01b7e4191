package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// Dump prints the whole state, with times since an epoch.
func (g *Group) Dump(epoch time.Time) string {
	var b strings.Builder
	since := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Sub(epoch).String()
	}
	leader := "-"
	if g.leader != nil {
		leader = g.leader.id
	}
	fmt.Fprintf(&b, "%s: %s generation=%d type=%q protocol=%q leader=%s", g.id, g.state(), g.generation, g.protocolType, g.protocol, leader)
	if g.initial {
		b.WriteString(" initial")
	}
	if !g.joinDeadline.IsZero() {
		fmt.Fprintf(&b, " join-deadline=%s", since(g.joinDeadline))
	}
	if !g.syncDeadline.IsZero() {
		fmt.Fprintf(&b, " sync-deadline=%s", since(g.syncDeadline))
	}
	b.WriteByte('\n')
	for i, m := range g.members {
		if i == 2 && len(g.members) > 8 {
			fmt.Fprintf(&b, "  ... %d members\n", len(g.members))
			break
		}
		fmt.Fprintf(&b, "  %s", m.id)
		if m.instance != nil {
			fmt.Fprintf(&b, " instance=%s", *m.instance)
		}
		if m.clientID+m.clientHost != "" {
			fmt.Fprintf(&b, " client=%s%s", m.clientID, m.clientHost)
		}
		for _, p := range m.protocols {
			fmt.Fprintf(&b, " %s:%s", p.Name, p.Metadata)
		}
		if len(m.assignment) > 100 {
			fmt.Fprintf(&b, " assignment=%d bytes", len(m.assignment))
		} else if len(m.assignment) > 0 {
			fmt.Fprintf(&b, " assignment=%s", m.assignment)
		}
		switch {
		case len(m.joins) > 0:
			fmt.Fprintf(&b, " joining(%d)", len(m.joins))
		case g.phase == preparing && m.joined:
			b.WriteString(" joined")
		case len(m.syncs) > 0:
			fmt.Fprintf(&b, " syncing(%d)", len(m.syncs))
		case g.phase != preparing && m.synced:
			b.WriteString(" synced")
		}
		if !m.parked() {
			fmt.Fprintf(&b, " session-ends=%s", since(m.deadline))
		}
		if !m.joinBy.IsZero() {
			fmt.Fprintf(&b, " new-until=%s", since(m.joinBy))
		}
		b.WriteByte('\n')
	}
	for _, id := range slices.Sorted(maps.Keys(g.pending)) {
		fmt.Fprintf(&b, "  pending %s until=%s\n", id, since(g.pending[id]))
	}
	return b.String()
}

// Check compares everything that is kept up to date step by step with what a
// look at the members gives.
func (g *Group) Check() error {
	fresh := Group{id: g.id, cfg: g.cfg, protocol: g.protocol}
	joined, parked := 0, 0
	for _, m := range g.members {
		fresh.count(m, 1)
		if m.joined {
			joined++
		}
		parked += len(m.joins) + len(m.syncs)
		for _, c := range slices.Concat(m.joins, m.syncs) {
			if g.calls[c] != m {
				return fmt.Errorf("call %d of %s is not indexed", c, m.id)
			}
		}
		if m.instance != nil && g.byInstance[*m.instance] != m {
			return fmt.Errorf("instance of %s is not indexed", m.id)
		}
		if e := m.expiry(); !e.IsZero() && (g.due.IsZero() || e.Before(g.due)) {
			return fmt.Errorf("%s expires before the group is due", m.id)
		}
		if g.phase != preparing && len(m.joins) > 0 || g.phase != completing && len(m.syncs) > 0 {
			return fmt.Errorf("%s is parked in %s", m.id, g.phase)
		}
		if m.untold && len(m.joins) == 0 {
			return fmt.Errorf("nobody knows %s", m.id)
		}
	}
	statics := 0
	for _, m := range g.members {
		if m.instance != nil {
			statics++
		}
	}
	for id := range g.pending {
		fresh.bytes += pendingSize(id)
		if g.find(id) != nil {
			return fmt.Errorf("%s is both member and pending", id)
		}
	}
	switch {
	case g.summed() != fresh.summed():
		return fmt.Errorf("sums are %+v, want %+v", g.summed(), fresh.summed())
	case g.roster != fresh.roster || g.bytes != fresh.bytes:
		return fmt.Errorf("roster %d, bytes %d, want %d, %d", g.roster, g.bytes, fresh.roster, fresh.bytes)
	case !maps.Equal(g.support, fresh.support):
		return fmt.Errorf("support %v, want %v", g.support, fresh.support)
	case joined != g.joined || parked != len(g.calls) || statics != len(g.byInstance):
		return fmt.Errorf("joined %d, parked %d, static %d, want %d, %d, %d", g.joined, len(g.calls), len(g.byInstance), joined, parked, statics)
	case !slices.IsSortedFunc(g.members, func(a, b *member) int { return strings.Compare(a.id, b.id) }):
		return fmt.Errorf("members are out of order")
	case (g.leader == nil) != (len(g.members) == 0):
		return fmt.Errorf("leader %v of %d members", g.leader, len(g.members))
	case g.leader != nil && g.find(g.leader.id) != g.leader:
		return fmt.Errorf("the leader is no member")
	case g.phase == preparing && len(g.members) > 0 && g.joinDeadline.IsZero():
		return fmt.Errorf("a join window without end")
	case len(g.members) > 0 && !g.agrees(g.members[0].protocols, g.members[0]):
		return fmt.Errorf("the members have no protocol in common")
	}
	return nil
}

// SetGeneration overwrites the generation.
func (g *Group) SetGeneration(n int32) { g.generation = n }

// Leader returns the leader's member id, or "".
func (g *Group) Leader() string {
	if g.leader == nil {
		return ""
	}
	return g.leader.id
}

// State returns the state.
func (g *Group) State() coordinator.State { return g.state() }

// Kept reports that the group outlives its members.
func (g *Group) Kept() bool { return g.kept }

// Selected returns the selected protocol.
func (g *Group) Selected() string { return g.protocol }
