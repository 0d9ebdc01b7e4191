package client

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
)

func TestStartRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t, on(cmdLogin, reply(42, nil), true))
	c, err := New(impatient(f.address()), Options{})
	require.NoError(t, err)
	err = c.Start(t.Context())
	require.ErrorContains(t, err, "iggy.username, iggy.password: the Iggy server at "+f.address()+" refuses the login")
	require.ErrorIs(t, c.Send(t.Context(), anywhere, 0, messages(1)), backend.ErrUnavailable)

	f = newFake(t, on(44, reply(53, nil), true))
	cfg := impatient(f.address())
	cfg.Token = "of last year"
	c, err = New(cfg, Options{})
	require.NoError(t, err)
	require.ErrorContains(t, c.Start(t.Context()), "iggy.token: ")
}

// A start waits for a server that is not there yet, says so once, and gives up
// with its context.
func TestStartWaits(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())

	core, logs := observer.New(zapcore.InfoLevel)
	c, err := New(impatient(address), Options{Log: zap.New(core)})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = c.Start(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "iggy.address: ")
	require.Equal(t, 1, logs.Len(), logs.All())

	c, err = New(impatient(address), Options{})
	require.NoError(t, err)
	started := make(chan error, 1)
	go func() { started <- c.Start(t.Context()) }()
	l, err = net.Listen("tcp", address)
	require.NoError(t, err)
	newFakeOn(t, l, nil)
	require.NoError(t, <-started)
	c.Close()
}

func TestStateIsTold(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	registry := prometheus.NewRegistry()
	var away atomic.Bool
	f := newFake(t, func(_ *fake, _ net.Conn, code uint32, _ []byte) (bool, bool) { return away.Load(), !away.Load() })
	c, err := New(impatient(f.address()), Options{Log: zap.New(core), Metrics: registry})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	defer c.Close()
	before, changed := c.Generation(), c.Changed()

	away.Store(true)
	f.cut()
	<-changed
	require.Eventually(t, func() bool { return !c.Up() }, soon, tick)
	require.Eventually(t, func() bool { return f.count(cmdLogin) > 20 }, soon, tick)
	away.Store(false)
	require.Eventually(t, c.Up, soon, tick)
	require.Greater(t, c.Generation(), before)
	require.Equal(t, []string{"connected to the Iggy server", "the Iggy server does not answer; trying again until it does",
		"the Iggy server answers again"}, texts(logs))

	require.NoError(t, c.Send(t.Context(), anywhere, 0, messages(1)))
	got, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, got, 8)
	require.Greater(t, redials(t, c), 10.0)
	require.Eventually(t, func() bool { return value(t, c.metrics.inFlight) == 0 }, soon, tick)
	c.Close()
	got, err = registry.Gather()
	require.NoError(t, err)
	require.Empty(t, got)
}

func texts(logs *observer.ObservedLogs) (all []string) {
	for _, entry := range logs.All() {
		all = append(all, entry.Message)
	}
	return all
}

// The end of a client is no absence of the server: its connections end once it is known that
// the client does.
func TestCloseIsNoAbsence(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.WarnLevel)
	c, err := New(impatient(newFake(t, nil).address()), Options{Log: zap.New(core)})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	var closed sync.WaitGroup
	c.mu.Lock() // as whoever is about to note a change
	closed.Go(c.Close)
	time.Sleep(50 * time.Millisecond)
	for r := range c.relays {
		require.NoError(t, r.ended())
	}
	c.mu.Unlock()
	closed.Wait()
	require.Empty(t, texts(logs))
}

// Logins are made one after another: each costs the server some 30 ms.
func TestNoStampede(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	f := newFake(t, func(_ *fake, _ net.Conn, code uint32, _ []byte) (bool, bool) {
		if code == cmdLogin {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(2 * time.Millisecond)
			now.Add(-1)
		}
		return false, true
	})
	cfg := impatient(f.address())
	cfg.Connections = Connections{Send: 8, Poll: 8, Admin: 8}
	c := start(t, cfg)
	require.Eventually(t, func() bool { return len(c.Locals()) == 24 }, soon, tick)
	f.cut()
	require.Eventually(t, func() bool { return f.count(cmdLogin) >= 48 && len(c.Locals()) == 24 }, soon, tick)
	require.EqualValues(t, 1, most.Load())
}

// All sends of a partition take the same connection.
func TestOneWriterPerPartition(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	by := map[byte]map[string]bool{}
	f := newFake(t, func(_ *fake, conn net.Conn, code uint32, body []byte) (bool, bool) {
		if code == cmdSend {
			partition := body[4+2+len("stream")+2+len("topic")+2]
			mu.Lock()
			defer mu.Unlock()
			if by[partition] == nil {
				by[partition] = map[string]bool{}
			}
			by[partition][conn.RemoteAddr().String()] = true
		}
		return false, true
	})
	cfg := impatient(f.address())
	cfg.Connections.Send = 4
	c := start(t, cfg)
	all := map[string]bool{}
	for i := range 200 {
		require.NoError(t, c.Send(t.Context(), anywhere, uint32(i%50), messages(1)))
	}
	require.Len(t, by, 50)
	for _, conns := range by {
		require.Len(t, conns, 1)
		for conn := range conns {
			all[conn] = true
		}
	}
	require.Len(t, all, 4)
}

// A call of the SDK that never returns holds neither its caller nor the shutdown,
// and its connection is replaced.
func TestCallThatNeverReturns(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	c := start(t, impatient(f.address()))
	never := make(chan struct{})
	began := time.Now()
	err := c.read(t.Context(), c.admin, opGetStats, func(iggcon.Client) error { <-never; return nil })
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Less(t, time.Since(began), 5*time.Second)
	_, err = c.Topics(t.Context(), "stream")
	require.ErrorIs(t, err, backend.ErrUnavailable, "its lane has no other connection")
	require.Eventually(t, func() bool { _, err := c.Topics(t.Context(), "stream"); return err == nil }, soon, tick)

	go func() {
		_ = c.change(context.Background(), 0, opUpdateTopic, func(iggcon.Client) error { <-never; return nil })
	}()
	require.Eventually(t, func() bool { return value(t, c.metrics.inFlight) > 1 }, soon, tick)
	began = time.Now()
	c.Close()
	require.Less(t, time.Since(began), closeGrace+closeLimit+time.Second)
	close(never)
}

// Close ends requests that wait for a silent server, and leaves nothing behind.
func TestCloseWhileSilent(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	f := newFake(t, func(*fake, net.Conn, uint32, []byte) (bool, bool) { return silent.Load(), true })
	cfg := impatient(f.address())
	cfg.RequestTimeout = time.Hour
	c := start(t, cfg)
	silent.Store(true)
	results := make(chan error, 3)
	go func() { results <- c.Send(context.Background(), anywhere, 0, messages(1)) }()
	go func() { results <- c.Send(context.Background(), anywhere, 0, messages(1)) }()
	go func() { results <- pollOnce(t, c) }()
	require.Eventually(t, func() bool { return f.count(cmdSend) == 1 && f.count(cmdPoll) == 1 }, soon, tick)
	began := time.Now()
	c.Close()
	require.Less(t, time.Since(began), closeGrace+closeLimit)
	var lost int
	for range 3 {
		switch err := <-results; {
		case errors.Is(err, backend.ErrOutcomeUnknown):
			lost++
		default:
			require.ErrorIs(t, err, backend.ErrUnavailable)
		}
	}
	require.Equal(t, 1, lost)
	c.Close()
}

// A caller that gives up waiting for a reading call is let go; a changing call
// has left, and its caller gets to know what became of it.
func TestContexts(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	f := newFake(t, func(_ *fake, _ net.Conn, code uint32, _ []byte) (bool, bool) {
		if code == cmdPoll || code == cmdSend {
			<-hold
		}
		return false, true
	})
	cfg := impatient(f.address())
	cfg.RequestTimeout = soon
	c := start(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	polled, sent, waited := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.Poll(ctx, anywhere, 0, iggcon.FirstPollingStrategy(), 1); polled <- err }()
	go func() { sent <- c.Send(ctx, anywhere, 0, messages(1)) }()
	require.Eventually(t, func() bool { return f.count(cmdSend) == 1 && f.count(cmdPoll) == 1 }, soon, tick)
	go func() { waited <- c.Send(ctx, anywhere, 0, messages(1)) }()
	cancel()
	require.ErrorIs(t, <-polled, context.Canceled)
	require.ErrorIs(t, <-waited, context.Canceled)
	close(hold)
	require.NoError(t, <-sent)
	require.Equal(t, 1, f.count(cmdSend))
}

// A thousand redials leave no goroutine and no descriptor, however the server
// turns them away.
func TestThousandRedials(t *testing.T) {
	for name, turn := range map[string]func(net.Conn){
		"closes at once": func(conn net.Conn) { _ = conn.Close() },
		"is silent":      func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var accepted atomic.Int64
			var open sync.WaitGroup
			open.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					accepted.Add(1)
					turn(conn)
					open.Go(func() {
						_, _ = conn.Read(make([]byte, 1<<10)) // the login, or the end
						_, _ = conn.Read(make([]byte, 1<<10))
						_ = conn.Close()
					})
				}
			})
			redialled(t, l.Addr().String(), func(*Client) bool { return accepted.Load() >= 1000 })
			require.NoError(t, l.Close())
			open.Wait()
		})
	}
	t.Run("is not there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		redialled(t, l.Addr().String(), func(c *Client) bool { return redials(t, c) >= 1000 })
	})
}

func redialled(t *testing.T, address string, enough func(*Client) bool) {
	cfg := impatient(address)
	cfg.ConnectTimeout, cfg.MaxBackoff = 3*time.Millisecond, time.Millisecond
	c, err := New(cfg, Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { started <- c.Start(ctx) }()
	require.Eventually(t, func() bool { return redials(t, c) > 20 }, soon, tick)
	before := runtime.NumGoroutine()
	require.Eventually(t, func() bool { return enough(c) }, 3*soon, 10*time.Millisecond)
	require.Less(t, runtime.NumGoroutine(), before+30)
	cancel()
	require.ErrorIs(t, <-started, context.Canceled)
}

// value reads a counter or gauge.
func value(t *testing.T, metric prometheus.Metric) float64 {
	var m dto.Metric
	require.NoError(t, metric.Write(&m))
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}
