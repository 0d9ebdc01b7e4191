package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
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
			r.pipeFrom("10.0.0.9").sendRaw([]byte("ali")) // and no more: they stall
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

// Clients that do not take what the server says of the transport hold no turns.
func TestUntakenGreetingsHoldNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &greeting{}
		r := pipesWith(t, []Option{g.protocol(false), WithTurns(security.TurnsOf(1))}, byGreeting, dispatchtest.Heartbeat(nil))
		for range 3 {
			c := r.pipeFrom("10.0.0.9")
			c.sendRaw([]byte("alice"))
			defer c.Close()
		}
		synctest.Wait()
		require.Zero(t, r.computing.Taken())
		began := time.Now()
		for _, from := range []string{"10.0.0.8", "10.0.0.9"} {
			c := r.pipeFrom(from)
			c.greet("alice")
			c.ask(quick(0), 4)
			c.Close()
		}
		require.Zero(t, time.Since(began))
	})
}

// An address that has many connections waiting gets one turn after the other, and so
// does one with a single connection.
func TestAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := security.TurnsOf(1)
		many, one := security.NewQueue(1), security.NewQueue(1)
		enter := func(own *security.Queue) {
			turn := &turnstile{ctx: t.Context(), own: own, all: all, opening: opening(all), suspect: never, gone: never}
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
	all, own := security.TurnsOf(1), security.NewQueue(1)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, all.Take(t.Context()))
	waiting := &turnstile{ctx: ctx, own: own, all: all, opening: opening(all), suspect: never, gone: never}
	cancel()
	require.ErrorIs(t, waiting.enter(), context.Canceled)
	waiting.leave()
	require.NoError(t, own.Take(t.Context(), security.Before), "the place is free")
	require.ErrorIs(t, (&turnstile{ctx: ctx, own: own, all: all, opening: opening(all), suspect: never, gone: never}).enter(), context.Canceled)
	require.Equal(t, 1, all.Taken())
}

func opening(all *security.Turns) *security.Opening { return all.Suspects.Opens(netip.Addr{}) }

func never() bool  { return false }
func always() bool { return true }

// Suspects get a sixteenth of the time, and hold up nobody else; one who gives up leaves
// no place in their lane taken.
func TestSuspectsWaitInTheirLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := security.TurnsOf(1)
		took := func(suspect func() bool) time.Duration {
			began := time.Now()
			turn := &turnstile{ctx: t.Context(), own: security.NewQueue(1), all: all, opening: opening(all), suspect: suspect, gone: never}
			require.NoError(t, turn.enter())
			time.Sleep(10 * time.Millisecond)
			turn.leave()
			return time.Since(began)
		}
		const ms = time.Millisecond
		require.Equal(t, 10*ms, took(always), "the first")
		require.Equal(t, 10*ms, took(never), "who is no suspect")
		require.Equal(t, 150*ms, took(always), "the rest of the rest, and its own time")

		full, cancel := context.WithCancel(t.Context())
		require.NoError(t, all.Take(t.Context()))
		time.Sleep(time.Second)
		given := make(chan error, 1)
		go func() {
			given <- (&turnstile{ctx: full, own: security.NewQueue(1), all: all, opening: opening(all), suspect: always, gone: never}).enter()
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		all.Give()
		require.Equal(t, 10*ms, took(always))
		time.Sleep(time.Second)
	})
}

// Handshakes that nobody uses make a suspect of their address, whose next ones wait for
// each other; clients that go on do not, and neither do those that send nothing.
func TestLostHandshakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const compute = 10 * time.Millisecond
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
		require.Equal(t, 16*compute, took, "it has rested")
		require.EqualValues(t, 2, testutil.ToFloat64(r.metrics.suspected))
	})
}

// What is not the client's fault is not held against its address: errors of the gateway, and
// how long it takes; nor is a client that has logged in and says nothing.
func TestNoSuspects(t *testing.T) {
	t.Parallel()
	broken := dispatchtest.Heartbeat(
		func(_ context.Context, call handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			switch req.Group {
			case "away":
				return nil, fmt.Errorf("the users: %w", security.ErrUnavailable)
			case "bug":
				return nil, errors.New("a bug")
			case "slow":
				time.Sleep(5 * time.Second) // the client leaves meanwhile
			case "open":
				time.Sleep(2 * lookAhead)
				call.Login.Authenticate(t.Context(), []byte("open"))
			case "stall":
				time.Sleep(2 * lookAhead) // another goroutine reads on
			case "wrong":
				call.Login.Authenticate(t.Context(), []byte("wrong"))
			}
			return kmsg.NewPtrHeartbeatResponse(), nil
		})
	for how, want := range map[string]bool{"away": false, "bug": false, "slow": false, "open": false, "stall": true, "wrong": true, "": true} {
		synctest.Test(t, func(t *testing.T) {
			r := pipesWith(t, []Option{(&greeting{}).protocol(true), WithLogins(&logins{})}, byGreeting, broken)
			r.computing = security.TurnsOf(1)
			var clients []*client
			for range 8 {
				c := r.pipe()
				c.greet("alice")
				if how != "" {
					c.send(token(how), 4)
				}
				clients = append(clients, c)
				if how == "slow" {
					go func() { time.Sleep(3 * time.Second); c.Close() }()
				} else if how != "" {
					go io.Copy(io.Discard, c)
				}
			}
			time.Sleep(6 * time.Second)
			require.Equal(t, want, r.computing.Suspects.Has(netip.Addr{}), how)
			for _, c := range clients {
				c.Close()
			}
		})
	}
}

// Clients that have left before their turn cost none, and do not hold their places.
func TestLeftBeforeTheTurn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("who has left is known on Linux alone")
	}
	var computed atomic.Int32
	first, free := make(chan struct{}), make(chan struct{})
	g := &greeting{compute: func() {
		if computed.Add(1) == 1 {
			close(first)
			<-free
		}
	}}
	r := startWith(t, []Option{g.protocol(false), WithAudit(blind{}), WithTurns(security.TurnsOf(1))}, byGreeting, dispatchtest.Heartbeat(nil))
	holds := r.dial()
	holds.sendRaw([]byte("alice"))
	<-first
	const left = 100
	for i := range left {
		c := r.dial()
		c.sendRaw([]byte("alice and more"))
		if i%2 == 0 {
			c.Conn.(*net.TCPConn).SetLinger(0)
		}
		c.Close()
	}
	r.eventually(func() bool { return r.connections() == left+1 }, "all have connected")
	close(free)
	r.eventually(func() bool { return r.connections() == 1 }, "all have left")
	require.EqualValues(t, 1, computed.Load())
	require.False(t, r.computing.Suspects.Has(holds.LocalAddr().(*net.TCPAddr).AddrPort().Addr()))
}

// A suspect whose connections come faster than they get turns, for longer than anybody
// waits, keeps out some of those who mean no harm behind the same address, and not all.
func TestOneOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, own := security.TurnsOf(1), security.NewQueue(1)
		shake := func(patience time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			turn := &turnstile{ctx: ctx, own: own, all: all, opening: opening(all), suspect: always, gone: never}
			for range 2 { // as TLS does
				if turn.enter() != nil {
					return false
				}
				time.Sleep(2 * time.Millisecond)
				turn.leave()
			}
			return true
		}
		flood := time.NewTicker(20 * time.Millisecond) // a turn takes 32
		defer flood.Stop()
		var in atomic.Int32
		tried := 0
		for range 3000 {
			<-flood.C
			time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
			go shake(10 * time.Second)
			if tried++; tried > 1000 && rand.IntN(20) == 0 {
				go func() {
					if shake(10 * time.Second) {
						in.Add(1)
					}
				}()
			}
		}
		time.Sleep(time.Minute)
		require.Greater(t, in.Load(), int32(2), "of about 100")
		require.NoError(t, own.Take(t.Context(), security.Before), "no place is lost")
	})
}

// Who has begun is let end before others begin: else of many that come at once none is done
// before all have begun.
func TestBegunIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, suspect := range []func() bool{never, always} {
			all, own := security.TurnsOf(1), security.NewQueue(1)
			began, first := time.Now(), make(chan time.Duration, 100)
			for range 100 {
				go func() {
					turn := &turnstile{ctx: t.Context(), own: own, all: all, opening: opening(all), suspect: suspect, gone: never}
					for range 2 {
						if turn.enter() != nil {
							return
						}
						time.Sleep(2 * time.Millisecond)
						turn.leave()
						time.Sleep(time.Millisecond) // its client's time
					}
					first <- time.Since(began)
				}()
			}
			require.Less(t, <-first, 100*time.Millisecond)
			time.Sleep(time.Minute)
			require.Len(t, first, 99)
		}
	})
}

// Clients of a suspect that send their handshakes byte by byte, a turn for each, keep nobody
// out who comes after them.
func TestBytesOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, own := security.TurnsOf(1), security.NewQueue(1)
		ctx, stop := context.WithCancel(t.Context())
		var slow sync.WaitGroup
		for range 100 {
			slow.Go(func() {
				turn := &turnstile{ctx: ctx, own: own, all: all, opening: opening(all), suspect: always, gone: never}
				for turn.enter() == nil {
					time.Sleep(20 * time.Microsecond)
					turn.leave()
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		time.Sleep(10 * time.Second)
		for range 5 {
			began := time.Now()
			patience, done := context.WithTimeout(t.Context(), 10*time.Second)
			turn := &turnstile{ctx: patience, own: own, all: all, opening: opening(all), suspect: always, gone: never}
			for range 2 { // as TLS does
				require.NoError(t, turn.enter())
				time.Sleep(2 * time.Millisecond)
				turn.leave()
			}
			done()
			require.Less(t, time.Since(began), 100*time.Millisecond)
			time.Sleep(time.Second)
		}
		stop()
		slow.Wait()
		time.Sleep(time.Second)
	})
}
