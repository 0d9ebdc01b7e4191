package coordinatortest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// limitRules: the limits over one group and over all, and the sweep that makes
// room before CoordinatorNotAvailable is answered.
func limitRules() rules {
	return rules{
		"members of a group": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxMembers = 2 })
			s.join("a")
			st := s.join("s", static("s"))
			require.Equal(s, coordinator.GroupMaxSizeReached, s.join("c").answer().Code)
			require.Equal(s, coordinator.GroupMaxSizeReached, s.join("c", v4).answer().Code)
			s.join("s", static("s")).waits() // replaces
			require.Equal(s, coordinator.FencedInstanceID, st.answer().Code)
		},
		"pending ids count as members": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxMembers = 2 })
			sent := s.join("a", v4).answer()
			s.join("b", v4).answer()
			require.Equal(s, coordinator.GroupMaxSizeReached, s.join("c", v4).answer().Code)
			s.again(sent, "a", v4).waits()
			s.until(10 * time.Second)
			require.Equal(s, coordinator.MemberIDRequired, s.join("c", v4).answer().Code, "b's id is over")
		},
		"groups": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxGroups, c.InitialRebalanceDelay = 2, 0 })
			s.joined(s.join("a", in("a")))
			s.until(time.Second)
			s.joined(s.join("a", in("b")))
			require.Equal(s, coordinator.JoinResult{Code: coordinator.CoordinatorNotAvailable}, s.join("a", in("c")).answer())
			s.join("b", in("b")).waits()
			require.Equal(s, coordinator.UnknownMemberID, s.join("a", in("c"), as("x")).answer().Code)
			s.until(10 * time.Second) // a's session
			if s.traits.Keeps {       // an empty group is one
				require.Equal(s, coordinator.CoordinatorNotAvailable, s.join("a", in("c")).answer().Code)
				require.Equal(s, coordinator.None, s.Remove(s.Context(), "a"))
			}
			s.joined(s.join("a", in("c")))
			require.Equal(s, coordinator.Dead, s.describe("a").State)
		},
		"members of all groups": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxTotalMembers, c.InitialRebalanceDelay = 2, 0 })
			a := s.joined(s.join("a", in("a")))
			s.until(time.Second)
			s.joined(s.join("b", in("b")))
			require.Equal(s, coordinator.CoordinatorNotAvailable, s.join("c", in("c")).answer().Code)
			require.Equal(s, coordinator.CoordinatorNotAvailable, s.join("c", in("a")).answer().Code)
			require.Len(s, s.List(s.Context(), coordinator.Filter{}), 2)
			s.joined(s.again(a, "changed", in("a")))
			s.until(12 * time.Second)
			s.joined(s.join("c", in("c")))
		},
		"bytes of all groups": func(s *suite) {
			big := listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 100_000)})
			small := listing(coordinator.Protocol{Name: "p"})
			s.config(func(c *coordinator.Config) { c.MemoryBudget, c.InitialRebalanceDelay = 250_000, 0 })
			a := s.joined(s.join("a", in("a"), big))
			s.until(time.Second)
			b := s.joined(s.join("b", in("b"), big))
			require.Equal(s, coordinator.CoordinatorNotAvailable, s.join("c", in("c"), big).answer().Code)
			s.joined(s.again(b, "b", in("b"), big)) // no more than before
			sync := coordinator.SyncRequest{Group: "a", MemberID: a.MemberID, Generation: 1, Assignments: []coordinator.Assignment{{MemberID: a.MemberID, Data: make([]byte, 60_000)}}}
			require.Equal(s, coordinator.CoordinatorNotAvailable, s.Sync(s.Context(), sync).Code)
			s.joined(s.again(b, "b", in("b"), small))
			require.Equal(s, coordinator.None, s.Sync(s.Context(), sync).Code, "b has become smaller")
		},
		"a sweep finds room": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxTotalMembers, c.InitialRebalanceDelay = 100, 0 })
			for i := range 100 {
				s.joined(s.join("a", in(string(rune('a'+i)))))
			}
			s.until(10 * time.Second)
			require.Len(s, s.List(s.Context(), coordinator.Filter{}), 100)
			s.joined(s.join("b"))
			if s.traits.Keeps {
				require.Len(s, s.listed(), 101-1, "the group g was there before")
			} else {
				require.Equal(s, []string{"g"}, s.listed())
			}
		},
		"bytes of a roster": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxRosterBytes, c.InitialRebalanceDelay = 100, 0 })
			require.Equal(s, coordinator.GroupMaxSizeReached, s.join("a", listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 100)})).answer().Code)
			a := s.joined(s.join("a", listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 50)})))
			require.Equal(s, coordinator.GroupMaxSizeReached, s.again(a, "a", listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 70)})).answer().Code)
			s.joined(s.again(a, "a", listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 60)})))
		},
	}
}
