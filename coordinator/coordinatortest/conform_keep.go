package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// keepRules: groups that outlive their members.
func keepRules() rules {
	return rules{
		"a group without members is Empty and keeps its type": func(s *suite) {
			a, b := s.pair()
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}, {MemberID: b.MemberID}})
			require.Equal(s, coordinator.Description{Group: "g", State: coordinator.Empty, ProtocolType: "consumer"}, s.describe("g"))
			want := []coordinator.Listing{{Group: "g", ProtocolType: "consumer", State: coordinator.Empty}}
			require.Equal(s, want, s.List(s.Context(), coordinator.Filter{States: []string{"empty"}}))
			require.Equal(s, coordinator.UnknownMemberID, s.beat(a))
			require.Equal(s, coordinator.UnknownMemberID, s.CheckCommit(s.Context(), of(a)))
			require.Equal(s, coordinator.None, s.CheckCommit(s.Context(), coordinator.HeartbeatRequest{Group: "g", Generation: -1}))
		},
		"its generation goes on": func(s *suite) {
			a, b := s.pair()
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}, {MemberID: b.MemberID}})
			begun := time.Since(s.start)
			c := s.join("c")
			s.until(begun + 3*time.Second - 1)
			c.waits() // for the initial delay, as at first
			s.until(begun + 3*time.Second)
			require.Greater(s, s.joined(c).Generation, a.Generation)
		},
		"another protocol type may follow": func(s *suite) {
			s.quick()
			a := s.joined(s.join("a"))
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}})
			s.joined(s.join("a", func(r *coordinator.JoinRequest) { r.ProtocolType = "connect" }))
			require.Equal(s, "connect", s.describe("g").ProtocolType)
		},
		"who never joined leaves nothing": func(s *suite) {
			s.config(nil)
			s.join("a").cut()
			s.join("b", v4).answer()
			require.Equal(s, []string{"g"}, s.listed())
			s.until(10 * time.Second)
			require.Empty(s, s.listed())
		},
		"a commit from outside makes a group": func(s *suite) {
			s.config(nil)
			require.Equal(s, coordinator.None, s.CheckCommit(s.Context(), coordinator.HeartbeatRequest{Group: "simple", Generation: -1}))
			require.Equal(s, coordinator.Description{Group: "simple", State: coordinator.Empty}, s.describe("simple"))
			require.Equal(s, []string{"simple"}, s.listed())
			require.Equal(s, coordinator.UnknownMemberID, s.CheckCommit(s.Context(), coordinator.HeartbeatRequest{Group: "simple", Generation: 3}))
		},
		"and needs room": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxGroups = 1 })
			outside := func(group string) coordinator.Code {
				return s.CheckCommit(s.Context(), coordinator.HeartbeatRequest{Group: group, Generation: -1})
			}
			require.Equal(s, coordinator.None, outside("one"))
			require.Equal(s, coordinator.CoordinatorNotAvailable, outside("two"))
			require.Equal(s, coordinator.None, outside("one"))
			require.Equal(s, coordinator.None, s.Remove(s.Context(), "one"))
			require.Equal(s, coordinator.None, outside("two"))
		},
		"a group that was removed is not there": func(s *suite) {
			s.quick()
			a := s.joined(s.join("a"))
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}})
			require.Equal(s, coordinator.None, s.Remove(s.Context(), "g"))
			require.Equal(s, coordinator.GroupIDNotFound, s.Remove(s.Context(), "g"))
			require.Equal(s, coordinator.Description{Group: "g", State: coordinator.Dead}, s.describe("g"))
			require.Empty(s, s.listed())
			require.Zero(s, s.Count().Bytes)
			require.EqualValues(s, 1, s.joined(s.join("a")).Generation)
		},
	}
}

// restart ends the coordinator without warning and opens it on what is left.
func (s *suite) restart() {
	s.Helper()
	s.Coordinator = s.traits.Restart(s.T, s.Coordinator, s.cfg)
}

// restartRules: groups that outlive the process.
func restartRules() rules {
	return rules{
		"members go on after a restart": func(s *suite) {
			a, st := s.withStatic()
			before := s.describe("g")
			s.until(15 * time.Second)
			s.restart()
			require.Equal(s, before, s.describe("g"))
			s.until(24 * time.Second) // sessions began anew
			require.Equal(s, coordinator.None, s.beat(a))
			require.Equal(s, coordinator.None, s.CheckCommit(s.Context(), fenced(st, "s")))
			require.Equal(s, "pa", s.synced(s.sync(a)))
			s.until(34 * time.Second)
			s.requireAlone("g")
		},
		"a static member comes back after a restart": func(s *suite) {
			a, st := s.withStatic()
			s.restart()
			r := s.joined(s.join("s", static("s"), v4))
			require.EqualValues(s, 1, r.Generation)
			require.Equal(s, "ps", s.synced(s.sync(r)))
			require.Equal(s, coordinator.None, s.beat(a))
			s.restart()
			require.Equal(s, coordinator.FencedInstanceID, s.Heartbeat(s.Context(), fenced(st, "s")))
			require.Equal(s, coordinator.None, s.Heartbeat(s.Context(), fenced(r, "s")))
		},
		"an empty group is there after a restart": func(s *suite) {
			a, b := s.pair()
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}, {MemberID: b.MemberID}})
			s.restart()
			require.Equal(s, coordinator.Description{Group: "g", State: coordinator.Empty, ProtocolType: "consumer"}, s.describe("g"))
			begun := time.Since(s.start)
			c := s.join("c")
			s.until(begun + 3*time.Second)
			require.Greater(s, s.joined(c).Generation, a.Generation)
			s.restart()
			s.restart()
		},
		"one that was removed is not": func(s *suite) {
			a, b := s.pair()
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}, {MemberID: b.MemberID}})
			require.Equal(s, coordinator.None, s.Remove(s.Context(), "g"))
			s.restart()
			require.Equal(s, coordinator.Dead, s.describe("g").State)
		},
		"a generation that was told is not told again": func(s *suite) {
			a, b := s.pair()
			leader := s.again(a, "a")
			b = s.joined(s.again(b, "b"))
			a = s.joined(leader)
			require.EqualValues(s, 2, a.Generation)
			s.restart() // before the leader has synced
			waiting := s.sync(b).waits()
			require.Equal(s, "p2", s.synced(s.sync(a, a.MemberID, "p2", b.MemberID, "q2")))
			require.Equal(s, "q2", s.synced(waiting))
			c := s.join("c")
			s.restart() // with a rebalance open
			require.Equal(s, coordinator.NotCoordinator, c.cut().Code)
			require.Equal(s, coordinator.None, s.beat(a), "c has to join again")
			require.Equal(s, "q2", s.synced(s.sync(b)))
			leader = s.again(a, "a")
			s.joined(s.again(b, "b"))
			require.EqualValues(s, 3, s.joined(leader).Generation)
		},
	}
}
