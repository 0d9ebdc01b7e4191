package server

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/security"
)

// No more connections compute at once than half of the processors; whoever waits for
// its client does not count.
func TestFewCompute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		g := &greeting{compute: func() {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second) // of a processor's time
			now.Add(-1)
		}}
		r := pipesWith(t, []Option{g.protocol(false)}, byGreeting, newParked().asks())
		r.computing = security.NewTurns()
		all := r.computing.Most()
		const clients = 6
		for range 10 {
			r.pipe().sendRaw([]byte("ali")) // and no more: they stall
		}
		began := time.Now()
		for range clients * all {
			go r.pipe().greet("alice")
		}
		r.eventually(func() bool {
			return r.computing.Taken() == 0 && time.Since(began) > clients*time.Second-time.Millisecond
		}, "all are done")
		require.EqualValues(t, all, most.Load())
		require.Equal(t, time.Duration(clients)*time.Second, time.Since(began).Truncate(time.Second))
	})
}

// An address that has many connections waiting gets one turn after the other, and so
// does one with a single connection.
func TestAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := security.TurnsOf(1)
		many, one := make(chan struct{}, 1), make(chan struct{}, 1)
		enter := func(own chan struct{}) {
			turn := &turnstile{ctx: t.Context(), own: own, all: all, first: nothing, suspect: never}
			require.NoError(t, turn.enter())
			time.Sleep(time.Second)
			turn.leave()
		}
		for range 100 {
			go enter(many)
		}
		time.Sleep(time.Millisecond)
		began := time.Now()
		enter(one)
		require.LessOrEqual(t, time.Since(began), 3*time.Second)
		time.Sleep(time.Hour)
	})
}

// Who gives up leaves no place taken.
func TestGivingUpTheTurn(t *testing.T) {
	t.Parallel()
	all, own := security.TurnsOf(1), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, all.Take(t.Context()))
	waiting := &turnstile{ctx: ctx, own: own, all: all, first: nothing, suspect: never}
	cancel()
	require.ErrorIs(t, waiting.enter(), context.Canceled)
	waiting.leave()
	require.Empty(t, own)
	own <- struct{}{}
	require.ErrorIs(t, (&turnstile{ctx: ctx, own: own, all: all, first: nothing, suspect: never}).enter(), context.Canceled)
	require.Equal(t, 1, all.Taken())
}

func nothing()     {}
func never() bool  { return false }
func always() bool { return true }

// Suspects get a quarter of the time, and hold up nobody else; one who gives up leaves
// no place in their lane taken.
func TestSuspectsWaitInTheirLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := security.TurnsOf(1)
		took := func(suspect func() bool) time.Duration {
			began := time.Now()
			turn := &turnstile{ctx: t.Context(), own: make(chan struct{}, 1), all: all, first: nothing, suspect: suspect}
			require.NoError(t, turn.enter())
			time.Sleep(100 * time.Millisecond)
			turn.leave()
			return time.Since(began)
		}
		const ms = time.Millisecond
		require.Equal(t, 100*ms, took(always), "the first")
		require.Equal(t, 100*ms, took(never), "who is no suspect")
		require.Equal(t, 300*ms, took(always), "the rest of the rest, and its own time")

		full, cancel := context.WithCancel(t.Context())
		require.NoError(t, all.Take(t.Context()))
		time.Sleep(time.Second)
		given := make(chan error, 1)
		go func() {
			given <- (&turnstile{ctx: full, own: make(chan struct{}, 1), all: all, first: nothing, suspect: always}).enter()
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		all.Give()
		require.Equal(t, 100*ms, took(always))
		time.Sleep(time.Second)
	})
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
		for range 16 {
			r.pipe().Close()
			c, took := greet()
			require.Equal(t, compute, took)
			c.ask(quick(0), 4)
			c.Close()
		}
		synctest.Wait()
		for range 17 { // one more than were good
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
