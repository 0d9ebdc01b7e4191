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
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/wire"
)

const (
	// freeMemory is what each request may hold without being charged to the
	// memory budget, in bytes.
	freeMemory = 64 << 10
	// lookAhead is how long a request may be in work before its connection is
	// read on. Most never need to.
	lookAhead = 20 * time.Millisecond
	// endGrace is how long abandoned requests may take to notice.
	endGrace = time.Second
)

// Server is the listener and its connections.
type Server struct {
	cfg      Config
	dispatch *dispatch.Dispatcher
	budget   *guard.Budget
	node     *settings.Node
	log      *zap.Logger
	metrics  *metrics
	pool     wire.Pool

	ln net.Listener
	// drain ends when the shutdown begins, base when requests are abandoned.
	drain, base          context.Context
	beginDrain, endCalls context.CancelFunc

	running   sync.WaitGroup // the accepting goroutine and every connection
	draining  atomic.Bool
	listening atomic.Bool
	mu        sync.Mutex
	conns     map[*conn]struct{}
	toldFull  time.Time // used by the accepting goroutine alone
}

// New returns a server that does nothing yet. A nil reg registers no metrics.
func New(
	cfg Config, d *dispatch.Dispatcher, budget *guard.Budget, node *settings.Node,
	log *zap.Logger, reg prometheus.Registerer,
) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, dispatch: d, budget: budget, node: node, log: log.Named("server"),
		conns: make(map[*conn]struct{}),
	}
	s.drain, s.beginDrain = context.WithCancel(context.Background())
	s.base, s.endCalls = context.WithCancel(context.Background())
	var err error
	if s.metrics, err = newMetrics(reg, s.connections, budget.Stats); err != nil {
		return nil, fmt.Errorf("metrics of the server: %w", err)
	}
	return s, nil
}

// Start listens, tells the node the address that clients should use, and
// begins to accept. It must be called once.
func (s *Server) Start(ctx context.Context) error {
	ln, err := listen(ctx, s.cfg.Listen)
	if err != nil {
		return err
	}
	host, port := advertised(s.cfg.Advertise, ln.Addr().(*net.TCPAddr))
	s.node.Advertise(host, port)
	s.serve(ln)
	return nil
}

// serve begins to accept from a listener.
func (s *Server) serve(ln net.Listener) {
	s.ln = ln
	s.running.Add(1)
	s.listening.Store(true)
	go s.accept()
}

// Addr returns the address that the server listens on; nil before Start.
func (s *Server) Addr() net.Addr {
	if s.ln == nil {
		return nil
	}
	return s.ln.Addr()
}

// Stop shuts down: no new connection is accepted, idle ones are closed, waiting
// calls are told to answer, and what is in work goes on until shutdown_drain is
// over or ctx ends. Then the rest is abandoned: its contexts end and its
// connections close. The error says that requests went on even after that.
// Stop before Start, and a second Stop, do nothing.
func (s *Server) Stop(ctx context.Context) error {
	if s.ln == nil || !s.draining.CompareAndSwap(false, true) {
		return nil
	}
	s.mu.Lock()
	for c := range s.conns {
		c.closeIdle()
	}
	s.mu.Unlock()
	s.ln.Close()
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
	s.mu.Lock()
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	if !s.wait(ctx, ended, endGrace) {
		return fmt.Errorf("%d requests did not end with their connections", s.connections())
	}
	return nil
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

// accept takes connections until the listener is closed.
func (s *Server) accept() {
	defer s.running.Done()
	const shortest, longest = 5 * time.Millisecond, time.Second
	var pause time.Duration
	for {
		nc, err := s.ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(nc)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case pause == 0:
			s.log.Warn("cannot accept connections; raise the limit of open files (ulimit -n) if that is the cause",
				zap.Error(err))
		}
		pause = min(max(shortest, 2*pause), longest)
		select {
		case <-time.After(pause):
		case <-s.drain.Done():
			return
		}
	}
}

// admit starts a connection, or closes it when there are too many.
func (s *Server) admit(nc net.Conn) {
	if n := s.connections(); n >= s.cfg.MaxConnections {
		nc.Close()
		s.metrics.refused.Inc()
		if time.Since(s.toldFull) > time.Minute {
			s.toldFull = time.Now()
			s.log.Warn("connections are refused: max_connections are open", zap.Int("max_connections", n))
		}
		return
	}
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		c.cancel()
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.metrics.accepted.Inc()
	go c.lead()
}

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// connections returns the number of open connections.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
