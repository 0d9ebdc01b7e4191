package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// memberRules: Heartbeat, LeaveGroup, the check of OffsetCommit, sessions.
func memberRules() rules {
	return rules{
		"heartbeats of nobody": func(s *suite) {
			s.config(nil)
			require.Equal(s, coordinator.InvalidGroupID, s.Heartbeat(s.Context(), coordinator.HeartbeatRequest{}))
			require.Equal(s, coordinator.UnknownMemberID, s.Heartbeat(s.Context(), coordinator.HeartbeatRequest{Group: "g"}))
			a, _ := s.pair()
			require.Equal(s, coordinator.UnknownMemberID, s.Heartbeat(s.Context(), fenced(a, "i")))
			a.Generation++
			require.Equal(s, coordinator.IllegalGeneration, s.beat(a))
			require.Empty(s, s.describe("other").Members)
			require.Len(s, s.List(s.Context(), coordinator.Filter{}), 1, "asking creates nothing")
		},
		"a session ends without heartbeats": func(s *suite) {
			a, b := s.pair()
			s.until(16*time.Second - 1)
			require.Equal(s, coordinator.None, s.beat(a))
			s.until(16 * time.Second)
			require.Equal(s, coordinator.UnknownMemberID, s.beat(b))
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
		},
		"commits and syncs keep a session": func(s *suite) {
			a, b := s.pair()
			s.until(15 * time.Second)
			require.Equal(s, coordinator.None, s.CheckCommit(s.Context(), of(a)))
			s.synced(s.sync(b))
			s.until(24 * time.Second)
			require.Equal(s, coordinator.None, s.beat(a))
			require.Equal(s, coordinator.None, s.beat(b))
		},
		"who waits while a member dies is told on time": func(s *suite) {
			_, b := s.pair()
			c := s.join("c")
			s.until(14 * time.Second)
			again := s.again(b, "b").waits()
			s.until(16*time.Second - 1)
			c.waits()
			s.until(16 * time.Second) // the session of the leader
			require.Equal(s, b.MemberID, s.joined(c).LeaderID)
			require.Len(s, s.joined(again).Members, 2)
		},
		"a newcomer does not wait for ever": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.InitialRebalanceDelay, c.NewMemberJoinTimeout = 0, 30*time.Second })
			a := s.joined(s.join("a", lasting(5*time.Minute, 5*time.Minute)))
			b := s.join("b")
			s.until(30*time.Second - 1)
			b.waits()
			s.until(30 * time.Second)
			require.Equal(s, coordinator.JoinResult{Code: coordinator.UnknownMemberID}, b.answer())
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
		},
		"leaving": func(s *suite) {
			a, b := s.pair()
			code, codes := s.Leave(s.Context(), "", []coordinator.Identity{{MemberID: a.MemberID}})
			require.Equal(s, coordinator.InvalidGroupID, code)
			require.Empty(s, codes)
			code, codes = s.Leave(s.Context(), "absent", []coordinator.Identity{{MemberID: a.MemberID}, {}})
			require.Equal(s, coordinator.None, code)
			require.Equal(s, []coordinator.Code{coordinator.UnknownMemberID, coordinator.UnknownMemberID}, codes)
			code, codes = s.Leave(s.Context(), "g", nil)
			require.Equal(s, coordinator.None, code)
			require.Empty(s, codes)
			require.Equal(s, coordinator.None, s.beat(b), "nobody left")
			_, codes = s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}, {MemberID: a.MemberID}, {MemberID: "unknown"}, {}})
			require.Equal(s, []coordinator.Code{coordinator.None, coordinator.UnknownMemberID, coordinator.UnknownMemberID, coordinator.UnknownMemberID}, codes)
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(b))
			r := s.joined(s.again(b, "b"))
			require.EqualValues(s, 2, r.Generation, "one rebalance")
			require.Equal(s, b.MemberID, r.LeaderID)
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: b.MemberID}})
			s.requireAlone("g")
		},
		"a member that waits is removed": func(s *suite) {
			a, b := s.pair()
			s.join("c")
			waiting := s.again(b, "b").waits()
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: b.MemberID}})
			require.Equal(s, coordinator.JoinResult{Code: coordinator.UnknownMemberID}, waiting.answer())
			require.Len(s, s.joined(s.again(a, "a")).Members, 2)
		},
		"a pending id leaves": func(s *suite) {
			a, b := s.pair()
			sent := s.join("c", v4).answer()
			_, codes := s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: sent.MemberID}})
			require.Equal(s, []coordinator.Code{coordinator.None}, codes)
			require.Equal(s, coordinator.None, s.beat(b), "no rebalance")
			sent = s.join("c", v4).answer()
			s.again(b, "changed").waits()
			leader := s.again(a, "a").waits() // for the pending id
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: sent.MemberID}})
			s.joined(leader)
		},
		"commits by phase": func(s *suite) {
			s.config(nil)
			outside := coordinator.HeartbeatRequest{Group: "g", Generation: -1}
			check := func(want coordinator.Code, r coordinator.HeartbeatRequest) {
				s.Helper()
				require.Equal(s, want, s.CheckCommit(s.Context(), r))
			}
			absent := s.traits.AbsentCommit
			if absent == coordinator.None {
				absent = coordinator.UnknownMemberID
			}
			check(absent, coordinator.HeartbeatRequest{Group: "g", Generation: 3})
			check(coordinator.None, outside)
			check(coordinator.None, coordinator.HeartbeatRequest{Generation: -1}) // the empty group
			first := s.join("a")
			s.until(3 * time.Second)
			a := s.joined(first)
			check(coordinator.RebalanceInProgress, of(a))
			s.synced(s.sync(a))
			check(coordinator.None, of(a))
			check(coordinator.UnknownMemberID, outside)
			check(coordinator.UnknownMemberID, fenced(a, "i"))
			for _, off := range []int32{-2, -1, 1} {
				wrong := of(a)
				wrong.Generation += off
				check(coordinator.IllegalGeneration, wrong)
			}
			s.join("b")
			check(coordinator.None, of(a))
		},
	}
}
