package coordinatortest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

// readRules: DescribeGroups and ListGroups.
func readRules() rules {
	return rules{
		"a group in every phase": func(s *suite) {
			s.config(nil)
			sent := s.join("a", v4, static("i"))
			require.Equal(s, coordinator.Description{Group: "none", State: coordinator.Dead}, s.describe("none"))
			d := s.describe("g")
			id := d.Members[0].MemberID
			want := coordinator.Description{
				Group: "g", State: coordinator.PreparingRebalance, ProtocolType: "consumer",
				Members: []coordinator.MemberDescription{{MemberID: id, InstanceID: ptr("i"), ClientID: s.identity("a")}},
			}
			require.Equal(s, want, d)
			s.until(3 * time.Second)
			a := s.joined(sent)
			show := func() { want.Protocol, want.Members[0].Metadata = "range", []byte("a") }
			hide := func() {
				if s.traits.StableOnly {
					want.Protocol, want.Members[0].Metadata = "", nil
				}
			}
			show()
			hide()
			want.State = coordinator.CompletingRebalance
			require.Equal(s, want, s.describe("g"))
			s.synced(s.sync(a, a.MemberID, "p"))
			show()
			want.State, want.Members[0].Assignment = coordinator.Stable, []byte("p")
			require.Equal(s, want, s.describe("g"))
			s.again(a, "a").answer() // the leader, alone: a new generation
			hide()
			want.State, want.Members[0].Assignment = coordinator.CompletingRebalance, nil
			require.Equal(s, want, s.describe("g"))
		},
		"assignments are kept while the next are prepared": func(s *suite) {
			s.pair()
			s.join("c")
			d := s.describe("g")
			require.Equal(s, coordinator.PreparingRebalance, d.State)
			if s.traits.StableOnly {
				require.Empty(s, d.Protocol)
			} else {
				require.Equal(s, "range", d.Protocol)
			}
			require.Equal(s, []string{"pa", "pb", ""}, []string{string(d.Members[0].Assignment), string(d.Members[1].Assignment), string(d.Members[2].Assignment)})
		},
		"client identities are kept when asked for": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.RetainClientIdentity = coordinator.On })
			s.join("a", func(r *coordinator.JoinRequest) { r.ClientHost = "/10.0.0.7" })
			m := s.describe("g").Members[0]
			require.Equal(s, []string{"a", "/10.0.0.7"}, []string{m.ClientID, m.ClientHost})
		},
		"client identities are not kept when that is asked for": func(s *suite) {
			s.config(func(c *coordinator.Config) { c.RetainClientIdentity = coordinator.Off })
			s.join("a", func(r *coordinator.JoinRequest) { r.ClientHost = "/10.0.0.7" })
			m := s.describe("g").Members[0]
			require.Equal(s, []string{"", ""}, []string{m.ClientID, m.ClientHost})
		},
		"who notices that sessions have ended": func(s *suite) {
			s.pair()
			s.until(16 * time.Second)
			if s.traits.OnTime {
				require.Equal(s, []coordinator.Listing{{Group: "g", ProtocolType: "consumer", State: coordinator.Empty}}, s.List(s.Context(), coordinator.Filter{}))
				return
			}
			// describing ticks, listing does not
			require.Equal(s, []coordinator.Listing{{Group: "g", ProtocolType: "consumer", State: coordinator.Stable}}, s.List(s.Context(), coordinator.Filter{}))
			d, err := s.Describe(s.Context(), []string{"g", "g", "g"}, generous)
			require.NoError(s, err)
			require.Equal(s, []coordinator.Description{{Group: "g", State: coordinator.Dead}}, d)
			require.Empty(s, s.List(s.Context(), coordinator.Filter{}))
		},
		"distinct ids in order": func(s *suite) {
			s.quick()
			s.join("a", in("b"))
			d, err := s.Describe(s.Context(), []string{"c", "b", "", "c", "a", "b"}, generous)
			require.NoError(s, err)
			var got []string
			for _, g := range d {
				got = append(got, g.Group+":"+string(g.State))
			}
			require.Equal(s, []string{"c:Dead", "b:CompletingRebalance", ":Dead", "a:Dead"}, got)
			d, err = s.Describe(s.Context(), nil, generous)
			require.NoError(s, err)
			require.Empty(s, d)
		},
		"the answer is priced first": func(s *suite) {
			a, b := s.pair()
			var seen []coordinator.Lengths
			var reserved []int64
			bill := coordinator.Bill{
				Limit:   20,
				Price:   func(l coordinator.Lengths) int64 { seen = append(seen, l); return 10 },
				Reserve: func(_ context.Context, sum int64) error { reserved = append(reserved, sum); return nil },
			}
			_, err := s.Describe(s.Context(), []string{"g", "none", "g"}, bill)
			require.NoError(s, err)
			require.Equal(s, []int64{20}, reserved, "once, with the sum")
			want := coordinator.Lengths{Group: "g", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range", Members: 2}
			for _, m := range []coordinator.JoinResult{a, b} {
				want.MemberIDs.Add(len(m.MemberID), 1)
				want.InstanceIDs.Add(-1, 1)
				want.ClientIDs.Add(len(s.identity("a")), 1)
				want.ClientHosts.Add(0, 1)
				want.Metadata.Add(1, 1)
				want.Assignments.Add(2, 1)
			}
			require.Equal(s, want, seen[0])
			require.Equal(s, coordinator.Lengths{Group: "none", State: coordinator.Dead}, seen[1])
			bill.Limit = 19
			d, err := s.Describe(s.Context(), []string{"g", "none", "g"}, bill)
			require.ErrorIs(s, err, coordinator.ErrTooLarge)
			require.Empty(s, d)
			require.Len(s, reserved, 1, "nothing is reserved for nothing")
			full := errors.New("full")
			bill.Limit, bill.Reserve = 20, func(context.Context, int64) error { return full }
			_, err = s.Describe(s.Context(), []string{"g", "none"}, bill)
			require.Equal(s, full, err)
		},
		"a group that grows while it is priced": func(s *suite) {
			s.config(nil)
			first := s.join("a")
			bill := coordinator.Bill{
				Limit: 1,
				Price: func(l coordinator.Lengths) int64 { return int64(l.Members) },
				Reserve: func(context.Context, int64) error {
					s.join("b")
					return nil
				},
			}
			_, err := s.Describe(s.Context(), []string{"g"}, bill)
			require.ErrorIs(s, err, coordinator.ErrTooLarge)
			first.waits()
		},
		"lists are sorted and filtered": func(s *suite) {
			s.config(nil)
			one := s.join("a", in("b"))
			s.until(3 * time.Second)
			s.joined(one)
			s.join("a", in("c"))
			s.join("a", in("a"), func(r *coordinator.JoinRequest) { r.ProtocolType = "connect" })
			all := []coordinator.Listing{
				{Group: "a", ProtocolType: "connect", State: coordinator.PreparingRebalance},
				{Group: "b", ProtocolType: "consumer", State: coordinator.CompletingRebalance},
				{Group: "c", ProtocolType: "consumer", State: coordinator.PreparingRebalance},
			}
			for _, c := range []struct {
				states, types []string
				want          []coordinator.Listing
			}{
				{nil, nil, all},
				{[]string{"preparingREBALANCE", " CompletingRebalance\t"}, []string{" Classic "}, all},
				{[]string{"CompletingRebalance", "Empty"}, nil, all[1:2]},
				{[]string{"Stable", "Dead", ""}, nil, nil},
				{nil, []string{"consumer"}, nil},
				{[]string{"CompletingRebalance"}, []string{"consumer"}, nil},
			} {
				got := s.List(s.Context(), coordinator.Filter{States: c.states, Types: c.types})
				require.ElementsMatch(s, c.want, got)
				require.True(s, len(c.want) == 0 || c.want[0] == got[0], "sorted")
			}
		},
	}
}
