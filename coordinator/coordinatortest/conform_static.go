package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// staticRules: KIP-345 and KIP-814.
func staticRules() rules {
	return rules{
		"a bounce changes nothing for the others": func(s *suite) {
			a, st := s.withStatic()
			s.until(10 * time.Second)
			r := s.joined(s.join("s", static("s"), v4))
			require.NotEqual(s, st.MemberID, r.MemberID)
			require.EqualValues(s, 1, r.Generation)
			require.Equal(s, a.MemberID, r.LeaderID)
			require.Empty(s, r.Members)
			require.Equal(s, coordinator.None, s.beat(a))
			require.Equal(s, "ps", s.synced(s.sync(r)))
			require.Equal(s, coordinator.None, s.Heartbeat(s.Context(), fenced(r, "s")))
		},
		"the replaced id is fenced": func(s *suite) {
			_, st := s.withStatic()
			s.joined(s.join("s", static("s")))
			old := fenced(st, "s")
			require.Equal(s, coordinator.FencedInstanceID, s.Heartbeat(s.Context(), old))
			require.Equal(s, coordinator.FencedInstanceID, s.CheckCommit(s.Context(), old))
			require.Equal(s, coordinator.FencedInstanceID, s.Sync(s.Context(), syncOf(old)).Code)
			require.Equal(s, coordinator.JoinResult{Code: coordinator.FencedInstanceID, MemberID: st.MemberID}, s.again(st, "s", static("s")).answer())
			_, codes := s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: st.MemberID, InstanceID: ptr("s")}, {MemberID: st.MemberID}})
			require.Equal(s, []coordinator.Code{coordinator.FencedInstanceID, coordinator.UnknownMemberID}, codes)
			require.Equal(s, coordinator.UnknownMemberID, s.beat(st), "without the instance id")
		},
		"a call that waits under the old id is fenced": func(s *suite) {
			s.config(nil)
			first := s.join("s", static("s")).waits()
			second := s.join("s", static("s")).waits()
			r := first.answer()
			require.Equal(s, coordinator.FencedInstanceID, r.Code)
			require.NotEmpty(s, r.MemberID)
			s.until(3 * time.Second)
			require.Len(s, s.joined(second).Members, 1)
		},
		"a leader that comes back, by version": func(s *suite) {
			st, a := s.withStaticLeader()
			v8 := s.joined(s.join("s", static("s"), v4))
			require.Equal(s, st.MemberID, v8.LeaderID, "the leader from before")
			require.Empty(s, v8.Members)
			require.False(s, v8.SkipAssignment)
			r := s.joined(s.join("other", static("s"), v9))
			require.Equal(s, r.MemberID, r.LeaderID)
			require.Len(s, r.Members, 2)
			require.True(s, r.SkipAssignment)
			require.Equal(s, coordinator.None, s.beat(a), "metadata may change")
			require.Equal(s, "ps", s.synced(s.sync(r)))
		},
		"a selection that would change is a rebalance": func(s *suite) {
			x, y := coordinator.Protocol{Name: "x"}, coordinator.Protocol{Name: "y"}
			st, a := s.withStaticLeader(listing(x, y))
			require.Equal(s, "x", st.Protocol)
			c := s.join("s", static("s"), listing(y, x), v9).waits()
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			s.again(a, "a", listing(x, y)).answer()
			require.Equal(s, "y", s.joined(c).Protocol, "the leader's choice in a tie")
		},
		"before the leader has synced it is a rebalance": func(s *suite) {
			s.config(nil)
			a, b := s.join("a"), s.join("s", static("s"))
			s.until(6 * time.Second)
			leader, st := s.joined(a), s.joined(b)
			waiting := s.sync(st).waits()
			s.join("s", static("s")).waits()
			require.Equal(s, coordinator.FencedInstanceID, waiting.answer().Code)
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(leader))
		},
		"an operator removes it by its instance id": func(s *suite) {
			a, _ := s.withStatic()
			_, codes := s.Leave(s.Context(), "g", []coordinator.Identity{{InstanceID: ptr("s")}, {InstanceID: ptr("s")}, {}})
			require.Equal(s, []coordinator.Code{coordinator.None, coordinator.UnknownMemberID, coordinator.UnknownMemberID}, codes)
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
		},
		"it may share a group with older versions": func(s *suite) {
			a, _ := s.withStatic()
			require.Equal(s, ptr("s"), a.Members[1].InstanceID)
			require.Nil(s, a.Members[0].InstanceID)
		},
	}
}

// withStatic returns a stable group of a dynamic leader and the static member s.
func (s *suite) withStatic() (leader, st coordinator.JoinResult) {
	s.Helper()
	return s.twoWith([]change{}, []change{static("s")}, "pa", "ps")
}

// withStaticLeader returns a stable group of the static leader s and a dynamic
// member.
func (s *suite) withStaticLeader(both ...change) (st, follower coordinator.JoinResult) {
	s.Helper()
	return s.twoWith(append(both, static("s")), both, "ps", "pa")
}

func (s *suite) twoWith(first, second []change, give1, give2 string) (one, two coordinator.JoinResult) {
	s.Helper()
	s.config(nil)
	c1, c2 := s.join("a", first...), s.join("b", second...)
	s.until(6 * time.Second)
	one, two = s.joined(c1), s.joined(c2)
	waiting := s.sync(two)
	require.Equal(s, give1, s.synced(s.sync(one, one.MemberID, give1, two.MemberID, give2)))
	require.Equal(s, give2, s.synced(waiting))
	return one, two
}
