package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// running is a server under test with what it counts and logs.
type running struct {
	*Server
	t    testing.TB
	node *settings.Node
	reg  *prometheus.Registry
	logs *observer.ObservedLogs
}

// build makes a server with the handlers; it does not listen.
func build(t testing.TB, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	return buildWith(t, nil, change, handlers...)
}

// buildWith is build of a server that works with others.
func buildWith(t testing.TB, opts []Option, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	if change != nil {
		change(&cfg)
	}
	r := &running{t: t, node: &settings.Node{ID: 1}, reg: prometheus.NewRegistry()}
	var core zapcore.Core
	core, r.logs = observer.New(zap.DebugLevel)
	table, err := dispatch.NewTable(handlers, nil)
	require.NoError(t, err)
	var with collaborators
	for _, opt := range opts {
		opt(&with)
	}
	d, err := dispatch.New(table, dispatch.Limits{MaxFrame: cfg.MaxFrameSize, RequestMemory: cfg.RequestMemory}, r.reg,
		dispatch.WithQuotas(with.quotas))
	require.NoError(t, err)
	budget := guard.NewBudget(cfg.MemoryBudget, earlyMemory(cfg), cfg.BudgetWait)
	r.Server, err = New(cfg, d, budget, r.node, zap.New(core), r.reg, opts...)
	require.NoError(t, err)
	return r
}

// start starts a server with the handlers on a free port, and stops it when
// the test ends.
func start(t testing.TB, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	return startWith(t, nil, change, handlers...)
}

// startWith is start of a server that works with others.
func startWith(t testing.TB, opts []Option, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	r := buildWith(t, opts, change, handlers...)
	require.NoError(t, r.Start(context.Background()))
	t.Cleanup(func() { require.NoError(t, r.Stop(context.Background())) })
	return r
}

// pipes starts a server whose connections are pipes in memory, for tests in a
// synctest bubble: channels that its handlers wait on must be made in there.
func pipes(t testing.TB, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	return pipesWith(t, nil, change, handlers...)
}

// pipesWith is pipes of a server that works with others.
func pipesWith(t testing.TB, opts []Option, change func(*Config), handlers ...handler.Handler) *running {
	t.Helper()
	r := buildWith(t, opts, change, handlers...)
	r.serveFrom(&pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})})
	t.Cleanup(func() { require.NoError(t, r.Stop(context.Background())) })
	return r
}

// serveFrom begins to accept from a listener in the place of the first one's own.
func (r *running) serveFrom(ln net.Listener) {
	l := r.listeners[0]
	if l.protocol.Open != nil {
		var err error
		l.transport, err = l.protocol.Open(l.cfg.ListenerConfig)
		require.NoError(r.t, err)
	}
	l.take(ln)
	r.serve(l)
}

// pipe connects to a server of pipes. Writes wait until the server reads.
func (r *running) pipe() *client {
	near, far := net.Pipe()
	r.listeners[0].ln.(*pipeListener).conns <- pipeConn{far}
	return &client{Conn: near, t: r.t}
}

// pipeConn closes with the error of a socket.
type pipeConn struct{ net.Conn }

func (c pipeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, asSocket(err)
}

func (c pipeConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, asSocket(err)
}

func asSocket(err error) error {
	if err == io.ErrClosedPipe {
		return net.ErrClosed
	}
	return err
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// closed waits until want connections have ended for a reason.
func (r *running) closed(reason string, want int) {
	r.t.Helper()
	r.eventually(func() bool {
		return value(r.t, r.metrics.closed.WithLabelValues(reason)) == float64(want)
	}, "connections closed for the reason "+reason)
}

// value reads a counter.
func value(t testing.TB, c prometheus.Counter) float64 {
	var m dto.Metric
	require.NoError(t, c.Write(&m))
	return m.GetCounter().GetValue()
}

// gauges reads a gauge by the value of its only label.
func (r *running) gauges(name string) map[string]float64 {
	r.t.Helper()
	families, err := r.reg.Gather()
	require.NoError(r.t, err)
	found := map[string]float64{}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				found[m.Label[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return found
}

func (r *running) eventually(ok func() bool, what string) {
	r.t.Helper()
	// Not require.Eventually: its goroutine would be among those counted.
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		require.True(r.t, time.Now().Before(end), "did not happen: %s", what)
	}
}

// client is a raw connection to the server.
type client struct {
	net.Conn
	t    testing.TB
	next int32 // correlation id
}

func (r *running) dial() *client {
	r.t.Helper()
	return r.dialTo(0)
}

// dialTo connects to one of the listeners.
func (r *running) dialTo(listener int) *client {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.listeners[listener].ln.Addr().String())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { nc.Close() })
	require.NoError(r.t, nc.SetDeadline(time.Now().Add(patience)))
	return &client{Conn: nc, t: r.t}
}

// expectRefused connects to one of the listeners, which has no place. The reset may come
// before the system has told of the connection.
func (r *running) expectRefused(listener int) {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.listeners[listener].ln.Addr().String())
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	require.NoError(r.t, err)
	defer nc.Close()
	require.NoError(r.t, nc.SetDeadline(time.Now().Add(patience)))
	(&client{Conn: nc, t: r.t}).expectClosed()
}

// frame encodes a request.
func frame(req kmsg.Request, version int16, correlation int32) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, correlation)
}

// send sends a request under the next correlation id.
func (c *client) send(req kmsg.Request, version int16) {
	c.t.Helper()
	c.next++
	c.sendRaw(frame(req, version, c.next))
}

func (c *client) sendRaw(b []byte) {
	c.t.Helper()
	_, err := c.Write(b)
	require.NoError(c.t, err)
}

// receive reads one answer and returns its correlation id and the rest.
func (c *client) receive() (correlation int32, rest []byte) {
	c.t.Helper()
	var prefix [4]byte
	_, err := io.ReadFull(c, prefix[:])
	require.NoError(c.t, err)
	payload := make([]byte, binary.BigEndian.Uint32(prefix[:]))
	_, err = io.ReadFull(c, payload)
	require.NoError(c.t, err)
	return int32(binary.BigEndian.Uint32(payload)), payload[4:]
}

// answer reads the answer to a request and decodes it.
func (c *client) answer(req kmsg.Request, version int16) kmsg.Response {
	c.t.Helper()
	correlation, rest := c.receive()
	require.Equal(c.t, c.next, correlation)
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if resp.IsFlexible() && resp.Key() != 18 {
		require.Zero(c.t, rest[0], "tags in the header")
		rest = rest[1:]
	}
	require.NoError(c.t, resp.ReadFrom(rest))
	return resp
}

// ask sends a request and decodes its answer.
func (c *client) ask(req kmsg.Request, version int16) kmsg.Response {
	c.t.Helper()
	c.send(req, version)
	return c.answer(req, version)
}

// expectClosed waits until the server closes, without a byte.
func (c *client) expectClosed() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c)
	require.Zero(c.t, n, "bytes before the close")
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded, "not closed")
}
