package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// contextRules: connections that end while a call waits.
func contextRules() rules {
	return rules{
		"a newcomer without an id goes with its connection": func(s *suite) {
			s.config(nil)
			for range 100 {
				c := s.join("a").waits()
				require.Len(s, s.describe("g").Members, 1)
				require.Equal(s, coordinator.JoinResult{Code: coordinator.NotCoordinator}, c.cut())
				require.Empty(s, s.List(s.Context(), coordinator.Filter{}))
			}
		},
		"the window that it opened goes on without it": func(s *suite) {
			a, b := s.pair()
			c := s.join("c").waits()
			again := s.again(a, "a").waits()
			c.cut()
			again.waits() // for b
			r := s.joined(s.again(b, "b"))
			require.EqualValues(s, 2, r.Generation)
			require.Len(s, s.joined(again).Members, 2)
		},
		"a member with an id keeps its place": func(s *suite) {
			a, b := s.pair()
			c := s.join("c")
			s.until(8 * time.Second)
			gone := s.again(b, "b").waits()
			require.Equal(s, coordinator.JoinResult{Code: coordinator.NotCoordinator, MemberID: b.MemberID}, gone.cut())
			s.until(12 * time.Second)
			require.Len(s, s.joined(s.again(a, "a")).Members, 3, "nobody waits for b")
			s.joined(c)
		},
		"its session runs from then": func(s *suite) {
			a, b := s.pair()
			s.join("c")
			s.until(8 * time.Second)
			gone := s.again(b, "b").waits()
			s.until(15 * time.Second)
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			s.until(17 * time.Second) // longer than b's session: it waits
			gone.cut()
			s.until(24 * time.Second)
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			s.until(27*time.Second - 1)
			require.Len(s, s.describe("g").Members, 3)
			s.until(27 * time.Second)
			require.Len(s, s.describe("g").Members, 2)
		},
		"a static newcomer stays": func(s *suite) {
			s.config(nil)
			s.join("s", static("s")).cut()
			require.Len(s, s.describe("g").Members, 1)
			end := 10 * time.Second
			if s.traits.OnTime { // its join completes at 3s, and its session starts again
				end = 13 * time.Second
				s.until(end - 1)
				require.Equal(s, coordinator.CompletingRebalance, s.describe("g").State)
			}
			s.until(end)
			s.requireAlone("g")
		},
		"a Sync that is cut": func(s *suite) {
			a, b := s.pair()
			leader := s.again(a, "a")
			b = s.joined(s.again(b, "b"))
			a = s.joined(leader)
			require.Equal(s, coordinator.SyncResult{Code: coordinator.NotCoordinator}, s.sync(b).waits().cut())
			s.synced(s.sync(a, b.MemberID, "p"))
			require.Equal(s, "p", s.synced(s.sync(b)))
		},
		"all cut while they join": func(s *suite) {
			s.config(nil)
			var all []*call[coordinator.JoinResult]
			for range 5 {
				sent := s.join("a", v4).answer()
				all = append(all, s.again(sent, "a", v4))
			}
			s.until(time.Second)
			for _, c := range all {
				c.cut()
			}
			end := 11 * time.Second
			if s.traits.OnTime { // their join completes at 6s, and their sessions start again
				end = 16 * time.Second
				s.until(end - 1)
				require.Len(s, s.describe("g").Members, 5)
			}
			s.until(end)
			require.Len(s, s.listed(), 1)
			s.requireAlone("g")
		},
	}
}
