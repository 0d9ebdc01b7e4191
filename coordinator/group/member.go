package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// member is one member of a group. It is changed through [Group.change] or one
// of the Group's methods, which keep the sums right.
type member struct {
	id         string
	instance   *string // nil: a dynamic member
	clientID   string  // both "" unless identities are retained
	clientHost string

	session   time.Duration
	rebalance time.Duration
	deadline  time.Time // of the session; void while the member is parked
	joinBy    time.Time // of its first join; zero once that has completed

	protocols  []coordinator.Protocol
	assignment []byte

	joined bool // in this join window
	synced bool // in this generation
	// untold: nobody knows the id yet, because it was generated for a call that
	// is still parked. Without that call the member is unreachable for ever.
	untold bool

	joins []Call // parked
	syncs []Call // parked
}

// parked reports that a call waits for the member's answer. The client then
// sends no heartbeats, so its session does not run.
func (m *member) parked() bool { return len(m.joins)+len(m.syncs) > 0 }

// expired reports that the session, or the time for the first join, is over.
func (m *member) expired(now time.Time) bool {
	return passed(m.joinBy, now) || !m.parked() && passed(m.deadline, now)
}

// expiry returns when the member would expire.
func (m *member) expiry() time.Time {
	if m.parked() {
		return m.joinBy
	}
	return earliest(m.joinBy, m.deadline)
}

// index returns the place of a protocol in the member's list, or −1.
func (m *member) index(protocol string) int {
	return slices.IndexFunc(m.protocols, func(p coordinator.Protocol) bool { return p.Name == protocol })
}

// metadata returns what the member sent for a protocol, empty if it does not
// list it.
func (m *member) metadata(protocol string) []byte {
	if i := m.index(protocol); i >= 0 {
		return m.protocols[i].Metadata
	}
	return nil
}

// largest returns the size of the largest metadata in the list.
func largest(protocols []coordinator.Protocol) int {
	n := 0
	for _, p := range protocols {
		n = max(n, len(p.Metadata))
	}
	return n
}

// equalProtocols compares names, order and bytes.
func equalProtocols(a, b []coordinator.Protocol) bool {
	return slices.EqualFunc(a, b, func(p, q coordinator.Protocol) bool {
		return p.Name == q.Name && bytes.Equal(p.Metadata, q.Metadata)
	})
}

// take copies protocols and timeouts out of a request. A rebalance timeout that
// is not positive, or that the version does not have (JoinGroup v0), reads as the
// session timeout; the configuration may cap it (KIP-62).
func (m *member) take(cfg *coordinator.Config, r coordinator.JoinRequest) {
	m.session = r.SessionTimeout
	m.rebalance = r.RebalanceTimeout
	if m.rebalance <= 0 {
		m.rebalance = r.SessionTimeout
	}
	if cfg.MaxRebalanceTimeout > 0 {
		m.rebalance = min(m.rebalance, cfg.MaxRebalanceTimeout)
	}
	if equalProtocols(m.protocols, r.Protocols) {
		return // the usual rejoin: nothing to copy
	}
	m.protocols = make([]coordinator.Protocol, len(r.Protocols))
	for i, p := range r.Protocols {
		m.protocols[i] = coordinator.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)}
	}
}

// refresh restarts a member's session.
func (g *Group) refresh(m *member, now time.Time) {
	m.deadline = now.Add(m.session)
	g.watch(m.deadline)
}
