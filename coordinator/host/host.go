// Package host is what coordinators of this project have in common: around the
// group machine of package group it puts locks, a clock, parked calls, limits over
// all groups and, for a coordinator that keeps groups, their saves. It is a
// [coordinator.Coordinator]; memory and durable are hosts with their own rules.
//
// # Locks
//
// One lock guards the map of groups and is held for look-up, insert and delete
// only; each group has its own. No call holds two group locks, or any lock while
// it waits or saves. A group's lock may be held while the map's is taken, never the
// other way round. A group that is deleted is marked gone under its own lock;
// whoever finds the mark looks up again.
//
// # Waiting
//
// A Join or Sync that has to wait holds no lock: it sleeps on a channel of its
// own. As long as one waits, its group is ticked at every deadline, by a timer.
// Unless groups are kept, one that nobody names and nobody waits for costs no time
// at all; see [Kept] for those that are.
//
// # Limits
//
// Groups, members and bytes over all groups are atomic counters. What a request
// can add at most is set aside before the group sees it, so the limits hold
// exactly, however many groups grow at once. Before COORDINATOR_NOT_AVAILABLE
// is answered, all groups are ticked, once a second at the most, and the request
// is tried again.
package host

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/group"
)

// Host keeps groups. Make one with [New].
type Host struct {
	cfg    coordinator.Config
	clock  Clock
	newID  func(coordinator.JoinRequest) string
	keeper *keeper // nil: groups go with their last member
	totals totals
	sweeps singleflight.Group
	swept  time.Time // by the last sweep

	listings listings

	mu     sync.RWMutex
	groups map[string]*entry
	moves  uint64   // into the map and out of it
	order  []*entry // by id, or nil; see [Host.sorted]
}

var _ coordinator.Coordinator = (*Host)(nil)

// Option changes what a Host is made of.
type Option func(*Host)

// WithClock replaces the system's clock.
func WithClock(c Clock) Option { return func(h *Host) { h.clock = c } }

// WithMemberIDs replaces the source of member ids, `<prefix>-<uuid>` by default.
// It is called from many goroutines, and must not repeat itself.
func WithMemberIDs(next func(coordinator.JoinRequest) string) Option {
	return func(h *Host) { h.newID = next }
}

// New returns a host without groups. The configuration must be valid. Client
// identities are retained when it says so; a switch on auto is off.
func New(cfg coordinator.Config, opts ...Option) *Host {
	cfg.RetainClientIdentity = cfg.RetainClientIdentity.Or(coordinator.Off)
	c := &Host{
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

// machine returns a new machine with the rules of this host.
func (c *Host) machine(id string) *group.Group {
	if c.keeper != nil {
		return group.NewKept(id, &c.cfg)
	}
	return group.New(id, &c.cfg)
}
