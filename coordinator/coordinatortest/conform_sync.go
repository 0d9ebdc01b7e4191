package coordinatortest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// syncRules: SyncGroup and the sync window.
func syncRules() rules {
	return rules{
		"the leader's list reaches everybody": func(s *suite) {
			a, b := s.pair()
			require.Equal(s, "pb", s.synced(s.sync(b)), "a repeat")
			require.Equal(s, "pa", s.synced(s.sync(a, b.MemberID, "stolen")), "a list in Stable is ignored")
		},
		"who is left out gets empty bytes": func(s *suite) {
			a, b := s.pair()
			leader := s.again(a, "a")
			b = s.joined(s.again(b, "b"))
			a = s.joined(leader)
			follower := s.sync(b).waits()
			require.Equal(s, "last", s.synced(s.sync(a, "nobody", "x", a.MemberID, "first", a.MemberID, "last")))
			require.Empty(s, s.synced(follower))
			require.Equal(s, coordinator.None, s.beat(b))
		},
		"a newcomer before the leader has synced": func(s *suite) {
			a, b := s.pair()
			leader := s.again(a, "a")
			b = s.joined(s.again(b, "b"))
			a = s.joined(leader)
			waiting := s.sync(b).waits()
			c := s.join("c")
			require.Equal(s, coordinator.SyncResult{Code: coordinator.RebalanceInProgress}, waiting.answer())
			require.Equal(s, coordinator.RebalanceInProgress, s.sync(a, a.MemberID, "void").answer().Code)
			leader = s.again(a, "a")
			b2 := s.joined(s.again(b, "b"))
			a2, c2 := s.joined(leader), s.joined(c)
			waitB, waitC := s.sync(b2), s.sync(c2)
			s.synced(s.sync(a2, a2.MemberID, "1", b2.MemberID, "2", c2.MemberID, "3"))
			require.Equal(s, "2", s.synced(waitB))
			require.Equal(s, "3", s.synced(waitC))
		},
		"checks come in order": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.InitialRebalanceDelay, c.MaxMemberBytes = 0, 1000 })
			a := s.joined(s.join("a"))
			big := []coordinator.Assignment{{MemberID: "nobody", Data: make([]byte, 1001)}}
			other := "other"
			for _, c := range []struct {
				request coordinator.SyncRequest
				code    coordinator.Code
			}{
				{coordinator.SyncRequest{MemberID: a.MemberID}, coordinator.InvalidGroupID},
				{coordinator.SyncRequest{Group: "absent", MemberID: a.MemberID}, coordinator.UnknownMemberID},
				{coordinator.SyncRequest{Group: "g", MemberID: "nobody"}, coordinator.UnknownMemberID},
				{coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, InstanceID: &other}, coordinator.UnknownMemberID},
				{coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, ProtocolType: &other, Assignments: big}, coordinator.IllegalGeneration},
				{coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, Generation: 1, ProtocolType: &other, Assignments: big}, coordinator.InconsistentGroupProtocol},
				{coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, Generation: 1, Protocol: &other, Assignments: big}, coordinator.InconsistentGroupProtocol},
				{coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, Generation: 1, Assignments: big}, coordinator.InvalidRequest},
			} {
				require.Equal(s, coordinator.SyncResult{Code: c.code}, s.Sync(s.Context(), c.request))
			}
			require.Equal(s, coordinator.CompletingRebalance, s.describe("g").State)
			r := s.Sync(s.Context(), coordinator.SyncRequest{
				Group: "g", MemberID: a.MemberID, Generation: 1, ProtocolType: ptr("consumer"), Protocol: ptr("range"),
			})
			require.Equal(s, coordinator.SyncResult{ProtocolType: "consumer", Protocol: "range"}, r)
		},
		"big assignments": func(s *suite) {
			s.config(nil)
			var all []*call[coordinator.JoinResult]
			for range 2000 {
				all = append(all, s.join("c"))
			}
			s.until(6 * time.Second)
			list := coordinator.SyncRequest{Group: "g", Generation: 1}
			for _, c := range all {
				if r := s.joined(c); len(r.Members) > 0 {
					list.MemberID = r.MemberID
					for _, m := range r.Members {
						list.Assignments = append(list.Assignments, coordinator.Assignment{MemberID: m.MemberID, Data: make([]byte, 525)})
					}
				}
			}
			require.Len(s, list.Assignments, 2000)
			require.Len(s, s.Sync(s.Context(), list).Assignment, 525)
			r := coordinator.SyncRequest{Group: "g", Generation: 1, MemberID: list.Assignments[1999].MemberID}
			require.Len(s, s.Sync(s.Context(), r).Assignment, 525)
		},
		"who does not sync is removed": func(s *suite) {
			s.config(nil)
			times := lasting(30*time.Second, 20*time.Second)
			a, b := s.join("a", times), s.join("s", static("s"), times)
			s.until(6 * time.Second)
			leader, idle := s.joined(a), s.joined(b)
			s.synced(s.sync(leader))
			s.until(16 * time.Second)
			require.Equal(s, coordinator.None, s.beat(idle))
			s.until(26*time.Second - 1)
			require.Equal(s, coordinator.None, s.beat(idle))
			s.until(26 * time.Second)
			require.Equal(s, coordinator.UnknownMemberID, s.beat(idle))
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(leader))
		},
		"a leader that does not sync is removed": func(s *suite) {
			s.config(nil)
			times := lasting(30*time.Second, 20*time.Second)
			a, b := s.join("a", times), s.join("b", times)
			s.until(6 * time.Second)
			s.joined(a)
			waiting := s.sync(s.joined(b))
			s.until(26*time.Second - 1)
			waiting.waits()
			s.until(26 * time.Second)
			require.Equal(s, coordinator.RebalanceInProgress, waiting.answer().Code)
		},
		"parked calls block nobody": func(s *suite) {
			a, b := s.pair()
			c := s.join("c").waits()
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			require.Equal(s, coordinator.None, s.CheckCommit(s.Context(), of(a)))
			d := s.join("d", in("other")).waits()
			waits := s.again(b, "b").waits()
			s.until(9 * time.Second)
			s.joined(d)
			c.waits()
			s.joined(s.again(a, "a"))
			s.joined(c)
			s.joined(waits)
		},
		"several calls of one member": func(s *suite) {
			a, b := s.pair()
			first, second := s.again(b, "b"), s.again(b, "b") // unchanged: no rebalance
			require.Equal(s, s.joined(first), s.joined(second))
			c := s.join("c")
			first, second = s.again(b, "b").waits(), s.again(b, "b").waits()
			s.joined(s.again(a, "a"))
			require.Equal(s, s.joined(first), s.joined(second))
			s.joined(c)
			b2 := of(b)
			b2.Generation = 2
			one := begin(s, func(ctx context.Context) coordinator.SyncResult { return s.Sync(ctx, syncOf(b2)) })
			two := begin(s, func(ctx context.Context) coordinator.SyncResult { return s.Sync(ctx, syncOf(b2)) })
			a.Generation = 2
			s.synced(s.sync(a, b.MemberID, "p"))
			require.Equal(s, "p", s.synced(one))
			require.Equal(s, "p", s.synced(two))
		},
	}
}

// syncOf is the Sync of a follower.
func syncOf(r coordinator.HeartbeatRequest) coordinator.SyncRequest {
	return coordinator.SyncRequest{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}
}
