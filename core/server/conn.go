package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/wire"
)

// The states of a connection. A shutdown closes only those without work.
const (
	idle   uint32 = iota // between requests, or reading one
	busy                 // a request is in work
	closed               // closed by the shutdown
)

// conn is one connection. At any moment one goroutine, its leader, reads from
// it. The leader works on what it reads; when that takes long, the timer starts
// a follower, which leads from then on and hands the request that it reads to
// nobody before the old leader has reported the end of its own.
type conn struct {
	s      *Server
	nc     socket
	in     *wire.Reader
	caller dispatch.Caller

	// ctx ends when the client goes away or the server abandons it.
	ctx    context.Context
	cancel context.CancelFunc

	state     atomic.Uint32
	idleSince atomic.Int64 // nanoseconds since opened
	opened    time.Time
	begun     bool // the first request has come

	follower *time.Timer
	ended    chan error // from the old leader: how its request ended
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, nc: socket{Conn: nc}, opened: time.Now(), ended: make(chan error, 1)}
	c.in = wire.NewReader(&c.nc, &s.pool, s.cfg.MaxFrameSize)
	host, port := s.node.Address()
	c.caller = dispatch.Caller{
		Host: kafkaHost(nc.RemoteAddr()), Drain: s.drain, Principal: security.Anonymous,
		Listener: handler.Listener{Name: "default", Protocol: "PLAINTEXT", Host: host, Port: port},
	}
	c.ctx, c.cancel = context.WithCancel(s.base)
	c.follower = time.AfterFunc(time.Hour, c.follow)
	c.follower.Stop()
	return c
}

// turn is what one request holds.
type turn struct {
	frame wire.Frame
	lease guard.Lease
}

func (t *turn) release() {
	t.frame.Release()
	t.lease.Release()
}

// follow leads on while another goroutine still works on a request.
func (c *conn) follow() {
	c.in.Detach() // the request in work may lie in the reader's buffer
	t := &turn{lease: c.s.budget.LeaseAbove(freeMemory)}
	err := c.read(t)
	if err != nil {
		c.cancel() // nobody waits for the request in work any more
	}
	if before := <-c.ended; before != nil && !(err != nil && c.gone(before)) {
		err = before
	}
	if err != nil {
		t.release()
		c.end(err)
		return
	}
	c.run(t)
}

// lead reads the first request and goes on from there.
func (c *conn) lead() {
	t := &turn{lease: c.s.budget.LeaseAbove(freeMemory)}
	if err := c.read(t); err != nil {
		t.release()
		c.end(err)
		return
	}
	c.run(t)
}

// run works on a request that has been read, and then on those that follow.
func (c *conn) run(t *turn) {
	for {
		c.follower.Reset(lookAhead)
		err := c.work(t)
		t.release()
		if !c.follower.Stop() {
			if err != nil {
				c.nc.Close() // ends the follower's wait for a request
			}
			c.ended <- err
			return
		}
		if err == nil {
			err = c.read(t)
		}
		if err != nil {
			t.release()
			c.end(err)
			return
		}
	}
}

// work answers one request.
func (c *conn) work(t *turn) error {
	if !c.state.CompareAndSwap(idle, busy) {
		return errShutdown
	}
	err := c.answer(t)
	c.idleSince.Store(int64(time.Since(c.opened)))
	c.state.Store(idle)
	if err == nil && c.s.draining.Load() {
		return errShutdown
	}
	return err
}

func (c *conn) answer(t *turn) error {
	answer, err := c.s.dispatch.Dispatch(c.ctx, &c.caller, t.frame.Payload, &t.lease, &c.s.pool)
	t.frame.Release()
	if err != nil || answer == nil {
		return err
	}
	defer c.s.pool.Put(answer)
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.s.metrics.sent.Add(float64(len(answer.B)))
	by := time.Now().Add(c.s.cfg.WriteTimeout + perMiB(len(answer.B)))
	if err := c.nc.writeAll(answer.B, by); err != nil {
		return timeout(err, errWriteTimeout)
	}
	return nil
}

// read reads the next request.
func (c *conn) read(t *turn) error {
	if err := c.await(); err != nil {
		return err
	}
	var began time.Time // of a request that is not all here yet
	if !c.in.Arrived(wire.PrefixSize) {
		began = time.Now()
		c.readWithin(began, 0)
	}
	size, err := c.in.Prefix()
	if err != nil {
		return c.readFailed(err)
	}
	if !c.in.FrameArrived(size) {
		if began.IsZero() {
			began = time.Now()
		}
		c.readWithin(began, size)
	}
	if t.frame, err = c.in.Frame(c.ctx, size, &t.lease); err != nil {
		return c.readFailed(err)
	}
	c.begun = true
	c.s.metrics.received.Add(float64(wire.PrefixSize + size))
	return nil
}

// await waits for the first byte of a request, without limit while another one
// is in work.
func (c *conn) await() error {
	for {
		if !c.begun {
			c.nc.readBy = c.opened.Add(c.s.cfg.FirstRequestTimeout)
		} else if c.state.Load() == busy {
			c.nc.readBy = time.Now().Add(c.s.cfg.IdleTimeout)
		} else {
			c.nc.readBy = c.opened.Add(time.Duration(c.idleSince.Load()) + c.s.cfg.IdleTimeout)
		}
		err := c.in.Await()
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case !c.begun:
			return errFirstRequestTimeout
		case c.state.Load() == idle && time.Since(c.opened)-time.Duration(c.idleSince.Load()) >= c.s.cfg.IdleTimeout:
			return errIdleTimeout
		}
	}
}

// readWithin sets the time for the rest of a request of size bytes. The first
// one has a limit of its own.
func (c *conn) readWithin(began time.Time, size int) {
	if c.begun {
		c.nc.readBy = began.Add(c.s.cfg.ReadTimeout + perMiB(size))
	}
}

func (c *conn) readFailed(err error) error {
	if !c.begun {
		return timeout(err, errFirstRequestTimeout)
	}
	return timeout(err, errReadTimeout)
}

// closeIdle closes the connection unless a request is in work.
func (c *conn) closeIdle() {
	if c.state.CompareAndSwap(idle, closed) {
		c.nc.Close()
	}
}

// end closes the connection, for a reason. It is the last thing that its last
// goroutine does.
func (c *conn) end(err error) {
	c.nc.Close()
	c.cancel()
	c.report(err)
	c.s.forget(c)
}

// perMiB is the time that transfers are given beyond their timeouts.
func perMiB(size int) time.Duration {
	return time.Duration(size) * time.Second >> 20
}

// timeout names an expired deadline.
func timeout(err, name error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return name
	}
	return err
}
