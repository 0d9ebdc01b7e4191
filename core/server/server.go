// Package server listens for Kafka clients and runs their connections: it cuts
// their bytes into frames, hands each to the dispatcher and writes the answer.
// All goroutines of the request path belong to it.
//
// # Connections
//
// A connection has one request in work at a time, and answers leave in the
// order of their requests. One goroutine reads a request, works on it and
// writes its answer. When that takes long, a second one reads on, one frame and
// no further, so that the end of the connection is seen and ends the call's
// context; it takes the connection over when the answer is written. So a
// connection without a request in work costs one goroutine and a small buffer.
//
// # Errors
//
// Whatever closes a connection is counted by its reason and logged once: at
// debug when the client caused it, at warn when a handler or a limit did, at
// error for a panic. A client that goes away is not logged.
package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/wire"
)

const (
	// endGrace is how long abandoned requests may take to notice.
	endGrace = time.Second
)

// Server is the listeners and their connections.
type Server struct {
	cfg      Config
	dispatch *dispatch.Dispatcher
	budget   *guard.Budget
	node     *settings.Node
	log      *zap.Logger
	metrics  *metrics
	pool     wire.Pool
	bulk     *bulk
	records  sync.Pool // of a *bufio.Writer: one record of a transport
	with     collaborators

	listeners []*listener
	rate      *rate.Limiter // of all listeners; nil: any
	// computing is where connections wait to compute their transport.
	computing *security.Turns
	// drain ends when the shutdown begins, base when requests are abandoned.
	drain, base          context.Context
	beginDrain, endCalls context.CancelFunc

	running     sync.WaitGroup // the accepting goroutines and every connection
	draining    atomic.Bool
	listening   atomic.Bool
	mu          sync.Mutex
	conns       map[*conn]struct{}
	places      places
	rates       *rates
	toldSuspect time.Time
	toldFull    time.Time
}

// collaborators are what a server works with where it is there.
type collaborators struct {
	protocols []Protocol
	logins    Logins
	audit     security.Audit
	quotas    security.Quotas
	turns     *security.Turns
}

// Option gives a server something to work with.
type Option func(*collaborators)

// WithProtocols adds protocols to PLAINTEXT and SASL_PLAINTEXT.
func WithProtocols(p ...Protocol) Option {
	return func(w *collaborators) { w.protocols = append(w.protocols, p...) }
}

// WithLogins logs clients in where a listener's protocol asks for it.
func WithLogins(l Logins) Option { return func(w *collaborators) { w.logins = l } }

// WithAudit records the connections that are refused.
func WithAudit(a security.Audit) Option { return func(w *collaborators) { w.audit = a } }

// WithQuotas bounds how often addresses connect by their quotas.
func WithQuotas(q security.Quotas) Option { return func(w *collaborators) { w.quotas = q } }

// WithTurns has handshakes share their turns at the processors with others that
// compute for strangers.
func WithTurns(t *security.Turns) Option { return func(w *collaborators) { w.turns = t } }

// New returns a server that does nothing yet. A nil reg registers no metrics. The
// error names every fault of the configuration.
func New(
	cfg Config, d *dispatch.Dispatcher, budget *guard.Budget, node *settings.Node,
	log *zap.Logger, reg prometheus.Registerer, opts ...Option,
) (*Server, error) {
	s := &Server{
		cfg: cfg, dispatch: d, budget: budget, node: node, log: log.Named("server"),
		conns:  make(map[*conn]struct{}),
		places: places{most: cfg.MaxConnections, each: cfg.MaxConnectionsPerAddress, addresses: map[netip.Addr]*address{}},
		rate:   newRate(cfg.ConnectionRate, 1),
	}
	for _, opt := range opts {
		opt(&s.with)
	}
	if err := errors.Join(cfg.Validate(), s.choose()); err != nil {
		return nil, err
	}
	s.bulk = newBulk(&s.pool)
	s.records.New = func() any { return bufio.NewWriterSize(nil, oneRecord) }
	if s.computing = s.with.turns; s.computing == nil {
		s.computing = security.NewTurns()
	}
	s.rates = newRates(s.with.quotas)
	s.drain, s.beginDrain = context.WithCancel(context.Background())
	s.base, s.endCalls = context.WithCancel(context.Background())
	var err error
	if s.metrics, err = newMetrics(reg, s); err != nil {
		return nil, fmt.Errorf("metrics of the server: %w", err)
	}
	return s, nil
}

// Start opens all listeners, tells the node the address that clients should use,
// and begins to accept. It must be called once. The error names every listener that
// cannot be opened, and what to do.
func (s *Server) Start(ctx context.Context) error {
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.open(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		for _, l := range s.listeners {
			l.close()
			l.ln = nil
		}
		return err
	}
	s.node.Advertise(s.listeners[0].at.Host, s.listeners[0].at.Port)
	var open []settings.Listener
	for _, l := range s.listeners {
		open = append(open, l.shown())
	}
	s.node.Listen(open)
	for _, l := range s.listeners {
		s.serve(l)
	}
	s.listening.Store(true)
	return nil
}

// serve begins to accept from a listener.
func (s *Server) serve(l *listener) {
	s.running.Add(1)
	go l.accept()
}

// Addr returns the address that the first listener has got; nil before Start.
func (s *Server) Addr() net.Addr {
	if s.listeners[0].ln == nil {
		return nil
	}
	return s.listeners[0].ln.Addr()
}

// Bound is a listener that is open.
type Bound struct {
	// Name and Protocol are those of the configuration.
	Name, Protocol string
	// Addr is what it listens on.
	Addr net.Addr
	// Host and Port are what its clients are told to connect to.
	Host string
	Port int32
}

// Bound returns the listeners in the order of Config.All; none before Start.
func (s *Server) Bound() []Bound {
	var bound []Bound
	for _, l := range s.listeners {
		if l.ln != nil {
			bound = append(bound, Bound{l.cfg.Name, l.cfg.Protocol, l.ln.Addr(), l.at.Host, l.at.Port})
		}
	}
	return bound
}

// Stop shuts down: no new connection is accepted, idle ones are closed, waiting
// calls are told to answer, and what is in work goes on until shutdown_drain is
// over or ctx ends. Then the rest is abandoned: its contexts end and its
// connections close. The error says that requests went on even after that.
// Stop before Start, and a second Stop, do nothing.
func (s *Server) Stop(ctx context.Context) error {
	if s.Addr() == nil || !s.draining.CompareAndSwap(false, true) {
		return nil
	}
	defer s.closeListeners()
	s.each((*conn).closeIdle)
	for _, l := range s.listeners {
		l.ln.Close()
	}
	s.beginDrain()

	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	defer s.endCalls()
	if s.wait(ctx, ended, s.cfg.ShutdownDrain) {
		return nil
	}
	why := "shutdown_drain is over"
	if ctx.Err() != nil {
		why = "the shutdown was broken off"
	}
	s.log.Warn("requests in work are abandoned: "+why,
		zap.Int("connections", s.connections()), zap.Duration("shutdown_drain", s.cfg.ShutdownDrain))
	s.endCalls()
	s.each(func(c *conn) { c.socket.Conn.Close() })
	if !s.wait(ctx, ended, endGrace) {
		return fmt.Errorf("%d requests did not end with their connections", s.connections())
	}
	return nil
}

// closeListeners ends what the listeners themselves run.
func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		l.close()
	}
}

// each calls f, which must not block, for every connection.
func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// wait reports whether ended is closed before d is over and before ctx ends.
func (s *Server) wait(ctx context.Context, ended <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.places.leave(c)
	s.mu.Unlock()
	s.running.Done()
}

// connections returns the number of open connections.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
