// Package coordinator is the contract of the classic group coordinator: what
// stands behind JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups,
// ListGroups, DeleteGroups and the group check of OffsetCommit.
//
// Values in, values out: there is no wire type, no connection and no version
// number here, only what the versions of the protocol mean to the group.
//
// # Errors
//
// A refusal that the client is told is a [Code] in the result. A Go error is
// returned only where its method says so, and means that there is no answer:
// whoever called closes the connection.
//
// # Ownership
//
// A coordinator copies what it keeps of its arguments. What it returns must not
// be modified: results share memory with the group.
//
// All methods are safe for concurrent use. Every implementation passes
// coordinatortest.Conform.
package coordinator

import (
	"context"
	"time"
)

// Coordinator is the whole contract. A handler asks for the part it needs.
type Coordinator interface {
	Joiner
	Syncer
	Heartbeater
	Leaver
	CommitChecker
	Describer
	Lister
	Remover
	Historian
	Counter
}

// Joiner answers JoinGroup.
type Joiner interface {
	// Join admits, renews or refuses a member. It waits until the group's join
	// is complete. When ctx ends before, the member stays (its session clock
	// runs again), a newcomer that does not know its id yet is removed, and the
	// result's code is NotCoordinator.
	Join(ctx context.Context, r JoinRequest) JoinResult
}

// JoinRequest is what a member joins with.
type JoinRequest struct {
	Group      string
	MemberID   string  // "" for a newcomer
	InstanceID *string // non-nil for a static member (KIP-345)
	ClientID   string  // prefix of a generated member id
	ClientHost string
	// SessionTimeout is refused when out of the configured range. A
	// RebalanceTimeout that is not positive reads as the session timeout.
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	ProtocolType     string
	Protocols        []Protocol // in the member's order of preference
	// RequireMemberID sends a dynamic newcomer away with an id to join again
	// with (KIP-394): JoinGroup v4+.
	RequireMemberID bool
	// CanSkipAssignment: the caller understands JoinResult.SkipAssignment
	// (KIP-814): JoinGroup v9+.
	CanSkipAssignment bool
}

// Protocol is one assignment strategy that a member supports.
type Protocol struct {
	Name     string
	Metadata []byte
}

// JoinResult answers a Join. With a code other than None only MemberID is set.
type JoinResult struct {
	Code         Code
	Generation   int32
	ProtocolType string
	Protocol     string // the selected one
	LeaderID     string
	// MemberID is the caller's id: as asked, or the generated one, or "" for a
	// caller that was removed while it waited.
	MemberID string
	// SkipAssignment tells the leader that it need not compute an assignment.
	SkipAssignment bool
	Members        []JoinedMember // for the leader only, by member id
}

// JoinedMember is a member as its leader sees it.
type JoinedMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte // of the selected protocol
}

// Syncer answers SyncGroup.
type Syncer interface {
	// Sync hands in the leader's assignments, or waits for one's own. When ctx
	// ends before, the result's code is NotCoordinator.
	Sync(ctx context.Context, r SyncRequest) SyncResult
}

// SyncRequest is what a member syncs with.
type SyncRequest struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
	// ProtocolType and Protocol are compared with the group's unless nil
	// (SyncGroup below v5 has neither).
	ProtocolType *string
	Protocol     *string
	Assignments  []Assignment // the leader's
}

// Assignment is what the leader gives to one member.
type Assignment struct {
	MemberID string
	Data     []byte
}

// SyncResult answers a Sync. With a code other than None nothing else is set.
type SyncResult struct {
	Code         Code
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// Heartbeater answers Heartbeat.
type Heartbeater interface {
	// Heartbeat refreshes the member's session. RebalanceInProgress tells a
	// member of a group that is preparing a rebalance to join again.
	Heartbeat(ctx context.Context, r HeartbeatRequest) Code
}

// HeartbeatRequest names a member and the generation it believes in.
type HeartbeatRequest struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
}

// Leaver answers LeaveGroup.
type Leaver interface {
	// Leave removes members in order. A code other than None refuses the whole
	// request; else there is one code for each identity, in order.
	Leave(ctx context.Context, group string, identities []Identity) (Code, []Code)
}

// Identity names a member by its id, by its instance id, or by both.
type Identity struct {
	MemberID   string
	InstanceID *string
}

// CommitChecker answers the group check of OffsetCommit.
type CommitChecker interface {
	// CheckCommit reports whether the member may commit now, and refreshes its
	// session if so. A negative generation with no member id and no instance id
	// is a commit from outside the group.
	CheckCommit(ctx context.Context, r HeartbeatRequest) Code
}

// Describer answers DescribeGroups.
type Describer interface {
	// Describe ticks each distinct id once, prices all of them, and only then
	// copies. Results are in the order of each id's first appearance. It fails
	// with ErrTooLarge, copying nothing, when the answer is above b.Limit; an
	// error of b.Reserve is returned as it is.
	Describe(ctx context.Context, ids []string, b Bill) ([]Description, error)
}

// Bill prices an answer before it is built.
type Bill struct {
	// Limit is the largest sum of prices that may be answered.
	Limit int64
	// Price says what one group adds to the answer, in bytes.
	Price func(Lengths) int64
	// Reserve is called once with the sum, before anything is copied. Nil
	// reserves nothing.
	Reserve func(ctx context.Context, sum int64) error
}

// Description is a group as DescribeGroups shows it. A group that is not there
// has the state Dead and nothing else but its id.
type Description struct {
	Group        string
	State        State
	ProtocolType string
	Protocol     string // the selected one, in every state
	Members      []MemberDescription
}

// MemberDescription is a member as DescribeGroups shows it.
type MemberDescription struct {
	MemberID   string
	InstanceID *string
	ClientID   string // "" unless client identities are retained
	ClientHost string
	Metadata   []byte // of the selected protocol; empty if there is none
	Assignment []byte
}

// Lister answers ListGroups.
type Lister interface {
	// List returns every group that passes the filter, sorted by id. It ticks
	// nothing, so it may show groups whose members have all expired.
	List(ctx context.Context, f Filter) []Listing
}

// Filter selects groups. An empty list lets everything pass; else one entry
// must equal the group's value, trimmed and without regard to case.
type Filter struct {
	States []string
	Types  []string
}

// Listing is a group as ListGroups shows it.
type Listing struct {
	Group        string
	ProtocolType string
	State        State
}

// Remover answers DeleteGroups.
type Remover interface {
	// Remove forgets a group without members. NonEmptyGroup: it has members, or
	// ids that it handed out; GroupIDNotFound: the coordinator knows none of that
	// name. The caller deletes the group's committed offsets afterwards.
	Remove(ctx context.Context, group string) Code
}

// Historian tells what a group went through. It is there for people: nothing
// depends on it, and it is gone with the process.
type Historian interface {
	// History returns the group's last rebalances, oldest first, at most
	// HistoryLength; none for a group that is not there.
	History(ctx context.Context, group string) []Rebalance
}

// HistoryLength is how many rebalances of a group are remembered.
const HistoryLength = 16

// Rebalance is one that is complete.
type Rebalance struct {
	// Began is when it was opened, and Completed when the members got the new
	// generation.
	Began, Completed time.Time
	Generation       int32
	Members          int
	Protocol         string
	// Reason is what opened it, in words for people.
	Reason string
}

// Counter counts over all groups. It is cheap: it looks at no group.
type Counter interface {
	Count() Counts
}

// Counts is the state of a coordinator in numbers.
type Counts struct {
	Groups     map[State]int // a state with no group may be left out
	Members    int
	Bytes      int64  // of everything that groups keep in memory
	Rebalances uint64 // completed since the start
}

// TypeClassic is the type of every group of this coordinator (KIP-848).
const TypeClassic = "classic"

// State is the phase of a group, in Kafka's words.
type State string

// The states. Dead is only the word for "no such group". A coordinator that
// forgets a group with its last member has no Empty ones.
const (
	Empty               State = "Empty"
	PreparingRebalance  State = "PreparingRebalance"
	CompletingRebalance State = "CompletingRebalance"
	Stable              State = "Stable"
	Dead                State = "Dead"
)
