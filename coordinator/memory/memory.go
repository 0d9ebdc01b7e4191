// Package memory is the gateway's own [coordinator.Coordinator]: the group
// machine of package group with locks, a clock and parked calls around it. All
// state is in memory: after a restart members get UNKNOWN_MEMBER_ID from their
// next request and join again.
//
// # Locks
//
// One lock guards the map of groups and is held for look-up, insert and delete
// only; each group has its own. No call holds two group locks, or any lock while
// it waits. A group's lock may be held while the map's is taken, never the other
// way round. A group that is deleted is marked gone under its own lock; whoever
// finds the mark looks up again.
//
// # Waiting
//
// A Join or Sync that has to wait holds no lock: it sleeps on a channel of its
// own. As long as one waits, its group is ticked at every deadline, by a timer.
// A group that nobody names and nobody waits for costs no time at all.
//
// # Limits
//
// Groups, members and bytes over all groups are atomic counters. What a request
// can add at most is set aside before the group sees it, so the limits hold
// exactly, however many groups grow at once. Before COORDINATOR_NOT_AVAILABLE
// is answered, all groups are ticked, once a second at the most, and the request
// is tried again.
package memory

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Coordinator keeps groups in memory. Make one with [New].
type Coordinator struct {
	cfg    coordinator.Config
	clock  Clock
	newID  func(coordinator.JoinRequest) string
	totals totals
	sweeps singleflight.Group
	swept  time.Time // by the last sweep

	mu     sync.RWMutex
	groups map[string]*entry
}

var _ coordinator.Coordinator = (*Coordinator)(nil)

// Option changes what a Coordinator is made of.
type Option func(*Coordinator)

// WithClock replaces the system's clock.
func WithClock(c Clock) Option { return func(m *Coordinator) { m.clock = c } }

// WithMemberIDs replaces the source of member ids, `<prefix>-<uuid>` by default.
// It is called from many goroutines, and must not repeat itself.
func WithMemberIDs(next func(coordinator.JoinRequest) string) Option {
	return func(m *Coordinator) { m.newID = next }
}

// New returns a coordinator without groups. The configuration must be valid.
func New(cfg coordinator.Config, opts ...Option) *Coordinator {
	c := &Coordinator{
		cfg:    cfg,
		clock:  systemClock{},
		newID:  func(r coordinator.JoinRequest) string { return group.MemberID(r, uuid.New()) },
		groups: make(map[string]*entry),
	}
	for _, opt := range opts {
		opt(c)
	}
	return c
}
