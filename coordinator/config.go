package coordinator

import (
	"fmt"
	"time"
)

// Config is the section "groups". Every limit counts over what is stored, so a
// zero is not "no limit" but refused at start-up, except where said.
type Config struct {
	// Coordinator says what becomes of consumer groups (default memory: a group
	// goes with its last member and with the gateway; durable: a group stays for as
	// long as it has committed offsets, is kept by the storage backend and goes on
	// after a restart of the gateway, as in Kafka).
	Coordinator string `koanf:"coordinator"`
	// MinSessionTimeout is the shortest session timeout that a member may ask
	// for (default 6s).
	MinSessionTimeout time.Duration `koanf:"min_session_timeout"`
	// MaxSessionTimeout is the longest session timeout that a member may ask
	// for (default 30m).
	MaxSessionTimeout time.Duration `koanf:"max_session_timeout"`
	// MaxRebalanceTimeout caps the rebalance timeout that members ask for
	// (default 0: no cap).
	MaxRebalanceTimeout time.Duration `koanf:"max_rebalance_timeout"`
	// InitialRebalanceDelay is how long a new group waits for more members
	// before its first generation (default 3s; 0: not at all).
	InitialRebalanceDelay time.Duration `koanf:"initial_rebalance_delay"`
	// NewMemberJoinTimeout removes a newcomer that is still waiting for its
	// first join to complete (default 5m).
	NewMemberJoinTimeout time.Duration `koanf:"new_member_join_timeout"`
	// MaxGroups bounds the groups kept (default 100000).
	MaxGroups int `koanf:"max_groups"`
	// MaxMembers bounds members and pending ids of one group (default 5000).
	MaxMembers int `koanf:"max_members"`
	// MaxTotalMembers bounds the members of all groups (default 100000).
	MaxTotalMembers int `koanf:"max_total_members"`
	// MaxProtocols bounds the protocols of one member (default 64).
	MaxProtocols int `koanf:"max_protocols"`
	// MaxMemberBytes bounds the instance id, protocol names and metadata of one
	// join, and one assignment, in bytes (default 1 MiB).
	MaxMemberBytes int `koanf:"max_member_bytes"`
	// MaxRosterBytes bounds member ids, instance ids and each member's largest
	// metadata in one group, in bytes (default 64 MiB). With the coordinator durable
	// all that is kept of the members of a group has 12 MiB at the most, besides.
	MaxRosterBytes int64 `koanf:"max_roster_bytes"`
	// MemoryBudget bounds everything that all groups keep, in bytes (default
	// 256 MiB).
	MemoryBudget int64 `koanf:"memory_budget"`
	// RetainClientIdentity keeps each member's client id and host and shows them in
	// DescribeGroups: true, false (both are empty), or auto (default auto: true with
	// the coordinator durable, false with memory).
	RetainClientIdentity Switch `koanf:"retain_client_identity"`
	// OffsetsRetention is how long committed offsets outlive the last member of
	// their group, or, where nobody is subscribed to their topic, their commit
	// (KIP-211; default 168h). The coordinator memory keeps them for ever.
	OffsetsRetention time.Duration `koanf:"offsets_retention"`
	// OffsetsCheckInterval is the time between two looks for offsets whose
	// retention is over (default 10m). Only the coordinator durable looks.
	OffsetsCheckInterval time.Duration `koanf:"offsets_check_interval"`
}

// Switch is on, off, or as the coordinator has it by itself.
type Switch string

// The positions of a Switch.
const (
	Auto Switch = "auto"
	On   Switch = "true"
	Off  Switch = "false"
)

// Or returns the position of a switch that may be on Auto, or not set.
func (s Switch) Or(auto Switch) Switch {
	if s == Auto || s == "" {
		return auto
	}
	return s
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:     6 * time.Second,
		MaxSessionTimeout:     30 * time.Minute,
		InitialRebalanceDelay: 3 * time.Second,
		NewMemberJoinTimeout:  5 * time.Minute,
		MaxGroups:             100_000,
		MaxMembers:            5_000,
		MaxTotalMembers:       100_000,
		MaxProtocols:          64,
		MaxMemberBytes:        1 << 20,
		MaxRosterBytes:        64 << 20,
		MemoryBudget:          256 << 20,
		Coordinator:           "memory",
		RetainClientIdentity:  Auto,
		OffsetsRetention:      7 * 24 * time.Hour,
		OffsetsCheckInterval:  10 * time.Minute,
	}
}

// Validate returns every fault of the configuration, each with the full name of
// its key; nil if there is none.
func (c Config) Validate() []error {
	var faults []error
	fault := func(key, format string, args ...any) {
		faults = append(faults, fmt.Errorf("groups."+key+": "+format, args...))
	}
	positive := func(key string, value any, ok bool) {
		if !ok {
			fault(key, "%v is not positive", value)
		}
	}
	notNegative := func(key string, d time.Duration) {
		if d < 0 {
			fault(key, "%v is negative", d)
		}
	}
	positive("min_session_timeout", c.MinSessionTimeout, c.MinSessionTimeout > 0)
	if c.MaxSessionTimeout < c.MinSessionTimeout {
		fault("max_session_timeout", "%v is below groups.min_session_timeout, %v", c.MaxSessionTimeout, c.MinSessionTimeout)
	}
	notNegative("max_rebalance_timeout", c.MaxRebalanceTimeout)
	notNegative("initial_rebalance_delay", c.InitialRebalanceDelay)
	positive("new_member_join_timeout", c.NewMemberJoinTimeout, c.NewMemberJoinTimeout > 0)
	positive("max_groups", c.MaxGroups, c.MaxGroups > 0)
	positive("max_members", c.MaxMembers, c.MaxMembers > 0)
	positive("max_total_members", c.MaxTotalMembers, c.MaxTotalMembers > 0)
	positive("max_protocols", c.MaxProtocols, c.MaxProtocols > 0)
	positive("max_member_bytes", c.MaxMemberBytes, c.MaxMemberBytes > 0)
	positive("max_roster_bytes", c.MaxRosterBytes, c.MaxRosterBytes > 0)
	positive("memory_budget", c.MemoryBudget, c.MemoryBudget > 0)
	positive("offsets_retention", c.OffsetsRetention, c.OffsetsRetention > 0)
	positive("offsets_check_interval", c.OffsetsCheckInterval, c.OffsetsCheckInterval > 0)
	return faults
}
