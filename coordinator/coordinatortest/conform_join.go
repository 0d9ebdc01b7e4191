package coordinatortest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// joinRules: JoinGroup, the initial delay and the join window.
func joinRules() rules {
	return rules{
		"a newcomer waits for the initial delay": func(s *suite) {
			s.config(nil)
			a := s.join("a")
			s.until(2999 * time.Millisecond)
			a.waits()
			s.until(3 * time.Second)
			r := s.joined(a)
			require.Regexp(s, `^a-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, r.MemberID)
			require.Equal(s, coordinator.JoinResult{
				Generation: 1, ProtocolType: "consumer", Protocol: "range", LeaderID: r.MemberID, MemberID: r.MemberID,
				Members: []coordinator.JoinedMember{{MemberID: r.MemberID, Metadata: []byte("a")}},
			}, r)
		},
		"from v4 on it needs an id first": func(s *suite) {
			s.config(nil)
			sent := s.join("a", v4).answer()
			require.Equal(s, coordinator.JoinResult{Code: coordinator.MemberIDRequired, MemberID: sent.MemberID}, sent)
			require.Equal(s, coordinator.UnknownMemberID, s.beat(sent))
			a := s.again(sent, "a", v4)
			s.until(3 * time.Second)
			require.Equal(s, sent.MemberID, s.joined(a).MemberID)
		},
		"a late id is unknown": func(s *suite) {
			s.config(nil)
			sent := s.join("a", v4).answer()
			state := coordinator.PreparingRebalance
			if s.traits.StableOnly {
				state = coordinator.Empty
			}
			require.Equal(s, state, s.describe("g").State)
			s.until(10 * time.Second)
			require.Equal(s, coordinator.JoinResult{Code: coordinator.UnknownMemberID, MemberID: sent.MemberID}, s.again(sent, "a", v4).answer())
			require.Empty(s, s.List(s.Context(), coordinator.Filter{}))
		},
		"newcomers prolong the initial delay": func(s *suite) {
			s.config(nil)
			a := s.join("a", lasting(10*time.Second, 4*time.Second))
			s.until(2 * time.Second)
			b := s.join("b", lasting(10*time.Second, 4*time.Second))
			s.until(3999 * time.Millisecond)
			a.waits()
			s.until(4 * time.Second)
			require.Len(s, s.joined(a).Members, 2)
			require.Empty(s, s.joined(b).Members)
		},
		"the initial delay is a generation for all": func(s *suite) {
			s.config(nil)
			var all []*call[coordinator.JoinResult]
			for _, client := range []string{"x", "x", "y", "y", "z", "z"} {
				all = append(all, s.join(client))
			}
			s.until(6 * time.Second)
			ids := map[string]bool{}
			for _, c := range all {
				r := s.joined(c)
				ids[r.MemberID] = true
				require.EqualValues(s, 1, r.Generation)
			}
			require.Len(s, ids, 6, "a client id is no member id")
		},
		"requests that no group accepts": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.MaxProtocols, c.MaxMemberBytes = 2, 40_000 })
			long := strings.Repeat("x", 32768)
			for _, c := range []struct {
				change change
				code   coordinator.Code
			}{
				{in(""), coordinator.InvalidGroupID},
				{in(long), coordinator.InvalidGroupID},
				{lasting(5999*time.Millisecond, time.Minute), coordinator.InvalidSessionTimeout},
				{lasting(30*time.Minute+1, time.Minute), coordinator.InvalidSessionTimeout},
				{as(long), coordinator.InvalidRequest},
				{static(strings.Repeat("x", 32767-36)), coordinator.InvalidRequest},
				{listing(coordinator.Protocol{Name: long}), coordinator.InvalidRequest},
				{listing(coordinator.Protocol{}, coordinator.Protocol{}, coordinator.Protocol{}), coordinator.InvalidRequest},
				{listing(coordinator.Protocol{Name: "p", Metadata: make([]byte, 40_000)}), coordinator.InvalidRequest},
				{func(r *coordinator.JoinRequest) { r.ProtocolType = long }, coordinator.InvalidRequest},
				{as("nobody"), coordinator.UnknownMemberID},
				{listing(), coordinator.InconsistentGroupProtocol},
				{func(r *coordinator.JoinRequest) { r.ProtocolType = "" }, coordinator.InconsistentGroupProtocol},
			} {
				r := request("a", c.change)
				require.Equal(s, coordinator.JoinResult{Code: c.code, MemberID: r.MemberID}, s.joinAs(r).answer())
			}
			require.Empty(s, s.List(s.Context(), coordinator.Filter{}), "none of them leaves a group")
		},
		"a member id fits into any version": func(s *suite) {
			s.quick()
			cut := s.joined(s.join(strings.Repeat("é", 20_000)))
			require.Equal(s, strings.Repeat("é", 16365), cut.MemberID[:len(cut.MemberID)-37])
			whole := s.joined(s.join("", in("h"), static(strings.Repeat("x", 32730))))
			require.Len(s, whole.MemberID, 32767)
		},
		"the protocol with the most votes, or the leader's": func(s *suite) {
			s.config(nil)
			a, b := coordinator.Protocol{Name: "a", Metadata: []byte("ma")}, coordinator.Protocol{Name: "b", Metadata: []byte("mb")}
			x, y, z := s.join("x", listing(a, b)), s.join("y", listing(b, a)), s.join("z", listing(b))
			require.Equal(s, coordinator.InconsistentGroupProtocol, s.join("w", listing(a)).answer().Code)
			v, w := s.join("v", in("h"), listing(a, b)), s.join("w", in("h"), listing(b, a))
			s.until(6 * time.Second)
			require.Equal(s, "b", s.joined(y).Protocol)
			require.Equal(s, "b", s.joined(z).Protocol)
			leader := s.joined(x)
			require.Equal(s, "b", leader.Protocol)
			for _, m := range leader.Members {
				require.Equal(s, "mb", string(m.Metadata))
			}
			require.Equal(s, "a", s.joined(v).Protocol, "a tie")
			require.Equal(s, "a", s.joined(w).Protocol)
		},
		"a newcomer opens a window": func(s *suite) {
			a, b := s.pair()
			c := s.join("c")
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(b))
			a2, b2 := s.again(a, "a"), s.again(b, "b")
			require.Len(s, s.joined(a2).Members, 3)
			require.EqualValues(s, 2, s.joined(b2).Generation)
			require.EqualValues(s, 2, s.joined(c).Generation)
			require.Equal(s, coordinator.IllegalGeneration, s.beat(a))
		},
		"the window ends without who did not join": func(s *suite) {
			s.config(nil)
			d := s.join("d", lasting(time.Minute, 20*time.Second))
			st := s.join("s", static("s"), lasting(time.Minute, 20*time.Second))
			s.until(6 * time.Second)
			leader, silent := s.joined(d), s.joined(st)
			follower := s.sync(silent)
			s.synced(s.sync(leader))
			s.synced(follower)
			n := s.join("n", lasting(time.Minute, 10*time.Second))
			s.until(26*time.Second - 1)
			n.waits()
			s.until(26 * time.Second)
			r := s.joined(n)
			require.Equal(s, r.MemberID, r.LeaderID)
			require.Len(s, r.Members, 2)
			require.Equal(s, silent.MemberID, r.Members[1].MemberID)
			require.Equal(s, "s", string(r.Members[1].Metadata), "what it sent before")
			require.Equal(s, coordinator.UnknownMemberID, s.beat(leader))
			require.Equal(s, coordinator.IllegalGeneration, s.beat(silent))
		},
		"a window with only silent static members starts again": func(s *suite) {
			s.quick()
			long := lasting(5*time.Minute, 20*time.Second)
			r := s.joined(s.join("r", static("r"), long))
			st := s.join("s", static("s"), long)
			s.joined(s.again(r, "r", static("r"), long))
			s.joined(st)
			who := []coordinator.Identity{{InstanceID: ptr("r")}}
			_, codes := s.Leave(s.Context(), "g", who) // s is silent from now on
			require.Equal(s, []coordinator.Code{coordinator.None}, codes)
			s.until(20 * time.Second)
			require.Equal(s, coordinator.PreparingRebalance, s.describe("g").State)
			n := s.join("n", long)
			s.until(40*time.Second - 1)
			n.waits()
			s.until(40 * time.Second)
			require.EqualValues(s, 3, s.joined(n).Generation)
		},
		"joining again unchanged": func(s *suite) {
			a, b := s.pair()
			r := s.joined(s.again(b, "b"))
			require.EqualValues(s, 1, r.Generation)
			require.Equal(s, a.MemberID, r.LeaderID)
			require.Empty(s, r.Members)
			require.Equal(s, coordinator.None, s.beat(a))
			s.again(a, "a").waits() // the leader wants to assign anew
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(b))
		},
		"joining again with other bytes": func(s *suite) {
			a, b := s.pair()
			changed := s.again(b, "other").waits()
			require.Equal(s, coordinator.RebalanceInProgress, s.beat(a))
			leader := s.joined(s.again(a, "a"))
			require.EqualValues(s, 2, leader.Generation)
			require.Equal(s, "other", string(leader.Members[1].Metadata))
			require.EqualValues(s, 2, s.joined(changed).Generation)
		},
		"what is kept is copied": func(s *suite) {
			s.quick()
			r := request("a")
			a := s.joined(s.joinAs(r))
			copy(r.Protocols[0].Metadata, "X")
			data := []byte("p")
			sync := coordinator.SyncRequest{Group: "g", MemberID: a.MemberID, Generation: 1, Assignments: []coordinator.Assignment{{MemberID: a.MemberID, Data: data}}}
			require.Equal(s, coordinator.None, s.Sync(s.Context(), sync).Code)
			copy(data, "X")
			m := s.describe("g").Members[0]
			require.Equal(s, []string{"a", "p"}, []string{string(m.Metadata), string(m.Assignment)})
		},
	}
}
