package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// adminRules: what operators, pages and metrics ask.
func adminRules() rules {
	return rules{
		"a group that is not there cannot be removed": func(s *suite) {
			s.config(nil)
			require.Equal(s, coordinator.GroupIDNotFound, s.Remove(s.Context(), "g"))
			require.Empty(s, s.History(s.Context(), "g"))
		},
		"a group with members cannot be removed": func(s *suite) {
			a, b := s.pair()
			require.Equal(s, coordinator.NonEmptyGroup, s.Remove(s.Context(), "g"))
			require.Equal(s, coordinator.None, s.beat(a))
			require.Equal(s, coordinator.None, s.beat(b))
		},
		"ids that were handed out are members to come": func(s *suite) {
			s.config(nil)
			sent := s.join("a", v4).answer()
			require.Equal(s, coordinator.NonEmptyGroup, s.Remove(s.Context(), "g"))
			s.again(sent, "a", v4).waits()
			s.until(time.Second)
			require.Equal(s, coordinator.NonEmptyGroup, s.Remove(s.Context(), "g"))
		},
		"rebalances are remembered with their reasons": func(s *suite) {
			a, b := s.pair()
			s.until(8 * time.Second)
			c := s.join("c")
			s.until(9 * time.Second)
			leader := s.again(a, "a")
			s.joined(s.again(b, "b"))
			s.joined(leader)
			s.joined(c)
			got := s.History(s.Context(), "g")
			require.Len(s, got, 2)
			for i := range got {
				require.NotEmpty(s, got[i].Reason)
				got[i].Began, got[i].Completed = got[i].Began.UTC(), got[i].Completed.UTC()
			}
			require.NotEqual(s, got[0].Reason, got[1].Reason)
			at := func(d time.Duration) time.Time { return s.start.Add(d).UTC().Truncate(time.Millisecond) }
			require.Equal(s, coordinator.Rebalance{
				Began: at(0), Completed: at(6 * time.Second), Generation: 1, Members: 2, Protocol: "range", Reason: got[0].Reason,
			}, got[0])
			require.Equal(s, coordinator.Rebalance{
				Began: at(8 * time.Second), Completed: at(9 * time.Second), Generation: 2, Members: 3, Protocol: "range", Reason: got[1].Reason,
			}, got[1])
		},
		"the last rebalances are remembered": func(s *suite) {
			s.quick()
			a := s.joined(s.join("a"))
			for range coordinator.HistoryLength + 5 {
				s.synced(s.sync(a))
				a = s.joined(s.again(a, "a")) // the leader, alone: a new generation
			}
			got := s.History(s.Context(), "g")
			require.Len(s, got, coordinator.HistoryLength)
			require.Equal(s, a.Generation, got[len(got)-1].Generation)
			require.Equal(s, a.Generation-coordinator.HistoryLength+1, got[0].Generation)
			require.EqualValues(s, coordinator.HistoryLength+6, s.Count().Rebalances)
		},
		"groups are counted by state": func(s *suite) {
			s.config(nil)
			require.Zero(s, s.counted())
			first := s.join("a")
			s.join("b", in("other"))
			require.Equal(s, counts{preparing: 2, members: 2}, s.counted())
			require.Positive(s, s.Count().Bytes)
			s.until(3 * time.Second)
			a := s.joined(first)
			require.Equal(s, counts{completing: 2, members: 2}, s.counted())
			s.synced(s.sync(a))
			require.Equal(s, counts{completing: 1, stable: 1, members: 2}, s.counted())
			s.Leave(s.Context(), "g", []coordinator.Identity{{MemberID: a.MemberID}})
			left := counts{completing: 1, members: 1}
			if s.traits.Keeps {
				left.empty = 1
			}
			require.Equal(s, left, s.counted())
			require.EqualValues(s, 2, s.Count().Rebalances)
			s.until(13 * time.Second)
			s.requireAlone("other")
			if s.traits.Keeps {
				require.Equal(s, counts{empty: 2}, s.counted())
				require.Equal(s, coordinator.None, s.Remove(s.Context(), "g"))
				require.Equal(s, coordinator.None, s.Remove(s.Context(), "other"))
			}
			require.Zero(s, s.counted())
			require.Zero(s, s.Count().Bytes)
		},
	}
}

// counts are groups by state, and members.
type counts struct{ empty, preparing, completing, stable, members int }

func (s *suite) counted() counts {
	c := s.Count()
	return counts{
		c.Groups[coordinator.Empty], c.Groups[coordinator.PreparingRebalance],
		c.Groups[coordinator.CompletingRebalance], c.Groups[coordinator.Stable], c.Members,
	}
}
