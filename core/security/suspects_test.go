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

// ended is how many connections of a source end in one way, which waited for their client.
func ended(n int, how func(*security.Opening), s *security.Suspects, source netip.Addr) {
	for range n {
		o := s.Opens(source)
		o.Waits()
		how(o)
	}
}

// stalled are connections of a source that wait for their client.
func stalled(n int, s *security.Suspects, source netip.Addr) (all []*security.Opening) {
	for range n {
		o := s.Opens(source)
		o.Waits()
		all = append(all, o)
	}
	return all
}

const (
	good = iota
	lost
	left
	void
)

// ways are how an opening may end.
var ways = []func(*security.Opening){(*security.Opening).Good, (*security.Opening).Lost, (*security.Opening).Left, (*security.Opening).Void}

// Eight lost openings make a suspect, unless as many were good.
func TestSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		ended(7, ways[lost], s, alice)
		require.False(t, s.Has(alice))
		ended(100, ways[void], s, alice)
		require.False(t, s.Has(alice), "others are no fault of the client")
		ended(1, ways[left], s, alice)
		require.True(t, s.Has(alice))
		require.False(t, s.Has(bob), "another address")
		ended(8, ways[good], s, alice)
		require.False(t, s.Has(alice), "as many were good")
		ended(1, ways[lost], s, alice)
		require.True(t, s.Has(alice))
		ended(10_000, ways[lost], s, alice)
		ended(64, ways[good], s, alice)
		require.False(t, s.Has(alice), "long ago counts less than lately")
	})
}

// An opening ends once.
func TestOpeningsEndOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		var stalled []*security.Opening
		for _, how := range ways {
			o := s.Opens(alice)
			o.Waits()
			o.Waits()
			how(o)
			for range 10 {
				o.Waits()
				o.Lost()
				o.Works()
			}
			stalled = append(stalled, o)
		}
		time.Sleep(5 * time.Second)
		ended(6, ways[lost], s, alice) // two were lost or left, one good
		require.True(t, s.Has(alice))
		for _, o := range stalled {
			o.Good()
		}
		require.True(t, s.Has(alice))
	})
}

// Who leaves has lost its opening, unless it was kept waiting.
func TestSuspectsLeave(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]bool{2 * time.Second: true, 2*time.Second + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			s := security.TurnsOf(1).Suspects
			for range 8 {
				o := s.Opens(alice)
				o.Waits()
				o.Works()
				time.Sleep(wait)
				o.Left()
			}
			require.Equal(t, want, s.Has(alice), wait)
		})
	}
}

// A connection that waits for its client counts after a second or two, and no more when the
// client has done its part.
func TestSuspectsStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		waiting := stalled(8, s, alice)
		time.Sleep(time.Second)
		require.False(t, s.Has(alice), "they may still come")
		time.Sleep(time.Second)
		require.True(t, s.Has(alice))
		waiting[0].Works()
		require.False(t, s.Has(alice))
		waiting[0].Waits()
		time.Sleep(2 * time.Second)
		require.True(t, s.Has(alice))
		waiting[0].Good()
		require.False(t, s.Has(alice))
		ended(1, ways[lost], s, alice)
		require.True(t, s.Has(alice), "seven stall, one is lost")
		for _, o := range waiting[1:] {
			o.Good()
		}
		require.False(t, s.Has(alice))
	})
}

// A crowd that comes at once, as after a restart, is none of suspects, however long it is kept
// waiting.
func TestCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		crowd := stalled(1000, s, alice)
		time.Sleep(900 * time.Millisecond)
		for _, o := range crowd { // all have done their part, and wait
			o.Works()
		}
		for i, o := range crowd {
			time.Sleep(10 * time.Millisecond)
			o.Waits()
			require.False(t, s.Has(alice), i)
			time.Sleep(time.Millisecond)
			o.Good()
		}
	})
}

// What is long ago counts less and less, and then not at all.
func TestSuspectsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		ended(64, ways[lost], s, alice)
		time.Sleep(time.Minute - time.Nanosecond)
		require.True(t, s.Has(alice))
		time.Sleep(3*time.Minute - time.Nanosecond)
		require.True(t, s.Has(alice), "eight are left")
		time.Sleep(2 * time.Nanosecond)
		require.False(t, s.Has(alice))
		time.Sleep(24 * time.Hour)
		ended(7, ways[lost], s, alice)
		time.Sleep(30 * time.Second)
		ended(1, ways[lost], s, alice)
		require.True(t, s.Has(alice))
	})
}

// So many addresses are remembered, and no more. An opening whose address has been forgotten
// meanwhile counts as any other.
func TestSuspectsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := security.TurnsOf(1).Suspects
		waiting := stalled(20, s, alice)
		time.Sleep(time.Minute)
		require.True(t, s.Has(alice))
		from := netip.MustParseAddr("11.0.0.0")
		for range 16 << 10 {
			from = from.Next()
			s.Opens(from).Lost()
		}
		require.False(t, s.Has(alice))
		for _, o := range waiting[:10] {
			o.Good()
		}
		for _, o := range waiting[10:] {
			o.Lost()
		}
		require.False(t, s.Has(alice))
		ended(1, ways[lost], s, alice)
		require.True(t, s.Has(alice))
	})
}

// The lane rests fifteen times as long as a turn took, a second at most, and not at all after
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
		lane.Give(10 * time.Millisecond)
		require.Equal(t, 150*time.Millisecond, waited())
		lane.Give(time.Hour)
		require.Equal(t, time.Second, waited())
		lane.Give(0)
		require.Zero(t, waited())
		lane.Give(0)
		lane.Give(0)
	})
}
