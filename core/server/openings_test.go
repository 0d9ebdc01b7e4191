package server

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/security"
)

var (
	alice = netip.MustParseAddr("10.0.0.1")
	bob   = netip.MustParseAddr("10.0.0.2")
)

func (o openings) times(n int, from netip.Addr, good bool) {
	for range n {
		o.count(from, good)
	}
}

// Eight lost openings make a suspect, unless as many were good.
func TestSuspects(t *testing.T) {
	t.Parallel()
	o := newOpenings()
	o.times(suspectAfter-1, alice, false)
	require.False(t, o.suspect(alice))
	o.count(alice, false)
	require.True(t, o.suspect(alice))
	require.False(t, o.suspect(bob), "another address")
	o.times(suspectAfter, alice, true)
	require.False(t, o.suspect(alice), "as many were good")
	o.count(alice, false)
	require.True(t, o.suspect(alice))
	o.times(10_000, alice, false)
	o.times(openingsMost, alice, true)
	require.False(t, o.suspect(alice), "long ago counts less than lately")
}

// What is long ago counts less and less, and then not at all.
func TestSuspectsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOpenings()
		o.times(1000, alice, false)
		time.Sleep(openingsHalve - time.Nanosecond)
		require.True(t, o.suspect(alice))
		time.Sleep(2*openingsHalve + time.Nanosecond)
		require.False(t, o.suspect(alice), "64 at most, halved three times is below eight")
		time.Sleep(24 * time.Hour)
		require.False(t, o.suspect(alice))
		require.Zero(t, o.known.Len())
	})
}

// An address is remembered among so many, and no more.
func TestOpeningsAreBounded(t *testing.T) {
	t.Parallel()
	o := newOpenings()
	o.times(suspectAfter, alice, false)
	from := netip.MustParseAddr("11.0.0.0")
	for range openingsKnown {
		from = from.Next()
		o.count(from, false)
	}
	require.Equal(t, openingsKnown, o.known.Len())
	require.False(t, o.suspect(alice))
}

// Handshakes that nobody uses make a suspect of their address, whose next ones wait for
// each other; clients that go on do not, and neither do those that send nothing.
func TestLostHandshakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const compute = 100 * time.Millisecond
		g := &greeting{compute: func() { time.Sleep(compute) }}
		r := pipesWith(t, []Option{g.protocol(false), WithAudit(blind{})}, byGreeting, dispatchtest.Heartbeat(nil))
		r.computing = security.TurnsOf(1)
		greet := func() (*client, time.Duration) {
			began, c := time.Now(), r.pipe()
			c.greet("alice")
			return c, time.Since(began)
		}
		for range 2 * suspectAfter {
			r.pipe().Close()
			c, took := greet()
			require.Equal(t, compute, took)
			c.ask(quick(0), 4)
			c.Close()
		}
		synctest.Wait()
		for range 2*suspectAfter + 1 { // one more than were good
			c, took := greet()
			require.Equal(t, compute, took)
			c.Close()
			synctest.Wait()
		}
		_, took := greet()
		require.Equal(t, compute, took, "the lane is free")
		_, took = greet()
		require.Equal(t, 4*compute, took, "it has rested")
		require.EqualValues(t, 2, testutil.ToFloat64(r.metrics.suspected))
	})
}
