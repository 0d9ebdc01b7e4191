package security_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

var (
	alice = netip.MustParseAddr("10.0.0.1")
	bob   = netip.MustParseAddr("10.0.0.2")
)

// ended is how many connections of a source end in one way.
func ended(n int, how func(security.Opening), s *security.Suspects, source netip.Addr) {
	for range n {
		how(s.Opens(source))
	}
}

// Eight lost openings make a suspect, unless as many were good.
func TestSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		ended(7, s.Lost, s, alice)
		require.False(t, s.Has(alice))
		ended(1, s.Lost, s, alice)
		require.True(t, s.Has(alice))
		require.False(t, s.Has(bob), "another address")
		ended(8, s.Good, s, alice)
		require.False(t, s.Has(alice), "as many were good")
		ended(1, s.Lost, s, alice)
		require.True(t, s.Has(alice))
		ended(10_000, s.Lost, s, alice)
		ended(64, s.Good, s, alice)
		require.False(t, s.Has(alice), "long ago counts less than lately")
	})
}

// A connection that is not used counts after a second or two, and no more when it is.
func TestSuspectsStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		var stalled []security.Opening
		for range 8 {
			stalled = append(stalled, s.Opens(alice))
		}
		time.Sleep(time.Second)
		require.False(t, s.Has(alice), "they may still come")
		time.Sleep(time.Second)
		require.True(t, s.Has(alice))
		s.Good(stalled[0])
		require.False(t, s.Has(alice))
		ended(1, s.Lost, s, alice)
		require.True(t, s.Has(alice), "seven stall, one is lost")
		for _, o := range stalled[1:] {
			s.Good(o)
		}
		require.False(t, s.Has(alice))

		for range 100 { // a crowd that comes at once, after a restart, say
			stalled = append(stalled[:0], s.Opens(bob))
			s.Good(stalled[0])
			stalled[0] = s.Opens(bob)
			time.Sleep(500 * time.Millisecond)
			s.Good(stalled[0])
			require.False(t, s.Has(bob))
		}
	})
}

// What is long ago counts less and less, and then not at all.
func TestSuspectsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		ended(64, s.Lost, s, alice)
		time.Sleep(time.Minute - time.Nanosecond)
		require.True(t, s.Has(alice))
		time.Sleep(3*time.Minute - time.Nanosecond)
		require.True(t, s.Has(alice), "eight are left")
		time.Sleep(2 * time.Nanosecond)
		require.False(t, s.Has(alice))
		time.Sleep(24 * time.Hour)
		ended(7, s.Lost, s, alice)
		time.Sleep(30 * time.Second)
		ended(1, s.Lost, s, alice)
		require.True(t, s.Has(alice))
	})
}

// So many addresses are remembered, and no more. An opening whose address has been forgotten
// meanwhile counts as any other.
func TestSuspectsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		var stalled []security.Opening
		for range 20 {
			stalled = append(stalled, s.Opens(alice))
		}
		time.Sleep(time.Minute)
		require.True(t, s.Has(alice))
		from := netip.MustParseAddr("11.0.0.0")
		for range 16 << 10 {
			from = from.Next()
			s.Opens(from)
		}
		require.False(t, s.Has(alice))
		for _, o := range stalled[:10] {
			s.Good(o)
		}
		for _, o := range stalled[10:] {
			s.Lost(o)
		}
		require.False(t, s.Has(alice))
		ended(1, s.Lost, s, alice)
		require.True(t, s.Has(alice))
	})
}

// The lane rests three times as long as a turn took, a second at most, and not at all after
// one that used nothing.
func TestLaneOfSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := security.TurnsOf(2)
		lane := turns.Suspects
		waited := func() time.Duration {
			began := time.Now()
			require.NoError(t, lane.Take(t.Context()))
			return time.Since(began)
		}
		for range turns.Most() {
			require.Zero(t, waited())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, lane.Take(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, lane.Take(ctx), context.DeadlineExceeded, "a place is no use to one who is gone")
		require.Zero(t, turns.Taken(), "of the others'")
		lane.Give(100 * time.Millisecond)
		require.Equal(t, 300*time.Millisecond, waited())
		lane.Give(time.Hour)
		require.Equal(t, time.Second, waited())
		lane.Give(0)
		require.Zero(t, waited())
		lane.Give(0)
		lane.Give(0)
	})
}
