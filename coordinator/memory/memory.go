// Package memory is the [coordinator.Coordinator] that keeps groups in memory, and
// only while they have members: after a restart members get UNKNOWN_MEMBER_ID from
// their next request and join again. A group that nobody names and nobody waits
// for costs no time: sessions end when a request looks. What it is made of is in
// package host.
package memory

import (
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/host"
)

// Coordinator keeps groups in memory. Make one with [New].
type Coordinator struct{ *host.Host }

var _ coordinator.Coordinator = (*Coordinator)(nil)

// Option changes what a Coordinator is made of.
type Option = host.Option

// Clock tells the time and wakes up. Its time must not go back.
type Clock = host.Clock

// WithClock replaces the system's clock.
func WithClock(c Clock) Option { return host.WithClock(c) }

// WithMemberIDs replaces the source of member ids, `<prefix>-<uuid>` by default.
// It is called from many goroutines, and must not repeat itself.
func WithMemberIDs(next func(coordinator.JoinRequest) string) Option {
	return host.WithMemberIDs(next)
}

// New returns a coordinator without groups. The configuration must be valid.
func New(cfg coordinator.Config, opts ...Option) *Coordinator {
	return &Coordinator{host.New(cfg, opts...)}
}
