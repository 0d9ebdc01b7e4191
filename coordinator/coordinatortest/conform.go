package coordinatortest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// Open returns a new coordinator without groups. What it needs to be stopped is
// left to t.Cleanup.
type Open func(t *testing.T, cfg coordinator.Config) coordinator.Coordinator

// Traits say where a coordinator differs from one that keeps groups in memory,
// for as long as they have members. They are differences that a coordinator may
// choose; all other rules hold for every one. The zero Traits are memory's.
type Traits struct {
	// Keeps: a group outlives its members, as Empty, until it is removed. A commit
	// from outside makes a group.
	Keeps bool
	// OnTime: sessions and rebalances end on time. Otherwise they do when a request
	// names the group, or somebody waits in it.
	OnTime bool
	// StableOnly: DescribeGroups shows protocol and metadata in Stable alone, and a
	// group with nothing but ids that were handed out as Empty, as Kafka does.
	// Otherwise it shows them in every phase, and such a group as PreparingRebalance.
	StableOnly bool
	// RetainsIdentity: client id and host are kept when the configuration says auto.
	RetainsIdentity bool
	// AbsentCommit is the code of a commit with a generation to a group that is not
	// there; None stands for UnknownMemberID.
	AbsentCommit coordinator.Code
	// Restart opens a coordinator on what another one left that ended without
	// warning, by ending it so. Nil: nothing is left of groups after a restart.
	Restart func(t *testing.T, old coordinator.Coordinator, cfg coordinator.Config) coordinator.Coordinator
}

// Conform runs the rules of the group protocol that show through the interface.
// At most one Traits says how the coordinator differs.
//
// Every rule runs in a bubble of testing/synctest, where time stands still until
// all goroutines wait. So the coordinator must use the clock of package time,
// and end its goroutines when the test does.
func Conform(t *testing.T, open Open, traits ...Traits) {
	var own Traits
	for _, own = range traits {
	}
	topics := []rules{
		joinRules(), syncRules(), staticRules(), memberRules(), contextRules(), readRules(), limitRules(), adminRules(),
	}
	if own.Keeps {
		topics = append(topics, keepRules())
	}
	if own.Restart != nil {
		topics = append(topics, restartRules())
	}
	for _, topic := range topics {
		for name, rule := range topic {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { rule(&suite{T: t, open: open, traits: own, start: time.Now()}) })
			})
		}
	}
}

// rules are the rules of one topic, each with its name.
type rules map[string]func(*suite)

// suite is what a rule works with.
type suite struct {
	*testing.T
	coordinator.Coordinator
	open   Open
	traits Traits
	cfg    coordinator.Config
	start  time.Time
}

// config opens the coordinator with the defaults, changed.
func (s *suite) config(change func(*coordinator.Config)) {
	cfg := coordinator.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	s.cfg = cfg
	s.Coordinator = s.open(s.T, cfg)
}

// quick opens a coordinator without an initial delay.
func (s *suite) quick() { s.config(func(c *coordinator.Config) { c.InitialRebalanceDelay = 0 }) }

// until sleeps until a time since the start of the rule.
func (s *suite) until(d time.Duration) {
	time.Sleep(d - time.Since(s.start))
	synctest.Wait()
}

// call is a request under way.
type call[R any] struct {
	s      *suite
	done   chan R
	cancel context.CancelFunc
}

func begin[R any](s *suite, do func(context.Context) R) *call[R] {
	ctx, cancel := context.WithCancel(s.Context())
	c := &call[R]{s, make(chan R, 1), cancel}
	go func() { c.done <- do(ctx) }()
	synctest.Wait()
	return c
}

// waits requires that there is no answer yet.
func (c *call[R]) waits() *call[R] {
	c.s.Helper()
	synctest.Wait()
	require.Empty(c.s, c.done, "answered at %s", time.Since(c.s.start))
	return c
}

// answer requires that there is one.
func (c *call[R]) answer() R {
	c.s.Helper()
	synctest.Wait()
	require.Len(c.s, c.done, 1, "no answer at %s", time.Since(c.s.start))
	return <-c.done
}

// cut is the end of the client's connection.
func (c *call[R]) cut() R {
	c.cancel()
	return c.answer()
}

// request is a Join of JoinGroup v3 to the group g.
func request(client string, change ...func(*coordinator.JoinRequest)) coordinator.JoinRequest {
	r := coordinator.JoinRequest{
		Group: "g", ClientID: client, SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte(client)}},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// Changes to a request.
type change = func(*coordinator.JoinRequest)

func as(id string) change           { return func(r *coordinator.JoinRequest) { r.MemberID = id } }
func in(group string) change        { return func(r *coordinator.JoinRequest) { r.Group = group } }
func static(id string) change       { return func(r *coordinator.JoinRequest) { r.InstanceID = &id } }
func v4(r *coordinator.JoinRequest) { r.RequireMemberID = true }
func v9(r *coordinator.JoinRequest) { r.RequireMemberID, r.CanSkipAssignment = true, true }

func lasting(session, rebalance time.Duration) change {
	return func(r *coordinator.JoinRequest) { r.SessionTimeout, r.RebalanceTimeout = session, rebalance }
}

func listing(protocols ...coordinator.Protocol) change {
	return func(r *coordinator.JoinRequest) { r.Protocols = protocols }
}

func (s *suite) join(client string, changes ...change) *call[coordinator.JoinResult] {
	return s.joinAs(request(client, changes...))
}

func (s *suite) joinAs(r coordinator.JoinRequest) *call[coordinator.JoinResult] {
	return begin(s, func(ctx context.Context) coordinator.JoinResult { return s.Join(ctx, r) })
}

// joined requires a Join that succeeded.
func (s *suite) joined(c *call[coordinator.JoinResult]) coordinator.JoinResult {
	s.Helper()
	r := c.answer()
	require.Equal(s, coordinator.None, r.Code)
	return r
}

// again is the Join of a member that has joined before.
func (s *suite) again(m coordinator.JoinResult, client string, changes ...change) *call[coordinator.JoinResult] {
	return s.join(client, append([]change{as(m.MemberID)}, changes...)...)
}

// sync is the SyncGroup of a member; give is member id, data, member id, data...
func (s *suite) sync(m coordinator.JoinResult, give ...string) *call[coordinator.SyncResult] {
	r := coordinator.SyncRequest{Group: "g", MemberID: m.MemberID, Generation: m.Generation}
	for i := 0; i < len(give); i += 2 {
		r.Assignments = append(r.Assignments, coordinator.Assignment{MemberID: give[i], Data: []byte(give[i+1])})
	}
	return begin(s, func(ctx context.Context) coordinator.SyncResult { return s.Sync(ctx, r) })
}

// synced requires a Sync that succeeded, and returns the assignment.
func (s *suite) synced(c *call[coordinator.SyncResult]) string {
	s.Helper()
	r := c.answer()
	require.Equal(s, coordinator.None, r.Code)
	return string(r.Assignment)
}

// beat is the Heartbeat of a member.
func (s *suite) beat(m coordinator.JoinResult) coordinator.Code {
	return s.Heartbeat(s.Context(), of(m))
}

// of names a member in its generation.
func of(m coordinator.JoinResult) coordinator.HeartbeatRequest {
	return coordinator.HeartbeatRequest{Group: "g", MemberID: m.MemberID, Generation: m.Generation}
}

// fenced names it with an instance id.
func fenced(m coordinator.JoinResult, instance string) coordinator.HeartbeatRequest {
	r := of(m)
	r.InstanceID = &instance
	return r
}

// generous prices everything at nothing.
var generous = coordinator.Bill{Price: func(coordinator.Lengths) int64 { return 0 }}

// describe returns the description of one group.
func (s *suite) describe(group string) coordinator.Description {
	s.Helper()
	d, err := s.Describe(s.Context(), []string{group}, generous)
	require.NoError(s, err)
	require.Len(s, d, 1)
	return d[0]
}

// requireAlone requires that a group that had members has none any more: it is
// Empty, or not there, as the coordinator has it.
func (s *suite) requireAlone(group string) {
	s.Helper()
	d := s.describe(group)
	require.Empty(s, d.Members)
	if s.traits.Keeps {
		require.Equal(s, coordinator.Empty, d.State)
		return
	}
	require.Equal(s, coordinator.Dead, d.State)
	require.NotContains(s, s.listed(), group)
}

// listed returns the ids of the groups that are listed.
func (s *suite) listed() []string {
	var out []string
	for _, l := range s.List(s.Context(), coordinator.Filter{}) {
		out = append(out, l.Group)
	}
	return out
}

// identity is the client id that is shown of a member.
func (s *suite) identity(client string) string {
	if s.traits.RetainsIdentity {
		return client
	}
	return ""
}

// pair returns a stable group of two members, the leader first.
func (s *suite) pair(changes ...change) (a, b coordinator.JoinResult) {
	s.Helper()
	s.config(nil)
	first, second := s.join("a", changes...), s.join("b", changes...)
	s.until(6 * time.Second) // the initial delay, prolonged once
	a, b = s.joined(first), s.joined(second)
	follower := s.sync(b)
	require.Equal(s, "pa", s.synced(s.sync(a, a.MemberID, "pa", b.MemberID, "pb")))
	require.Equal(s, "pb", s.synced(follower))
	return a, b
}

func ptr[T any](v T) *T { return &v }
