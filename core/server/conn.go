package server

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
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
// it. The leader works on what it reads; when that takes long, or is worth it, it
// gets a follower, which leads from then on and hands the request that it reads to
// nobody before the old leader has reported the end of its own.
type conn struct {
	s        *Server
	listener *listener
	socket   socket
	nc       net.Conn // what is read and written: the socket, or the transport over it
	in       *wire.Reader
	caller   dispatch.Caller

	// ctx ends when the client goes away or the server abandons it.
	ctx    context.Context
	cancel context.CancelFunc

	state      atomic.Uint32
	idleSince  atomic.Int64 // nanoseconds since opened
	mutedUntil atomic.Int64 // nanoseconds since opened
	opened     time.Time
	begun      bool              // the first request has come, and the client is logged in
	known      atomic.Bool       // the same, as soon as anybody knows
	opening    *security.Opening // nil: it costs nothing
	displaced  atomic.Bool

	watch watch
	ended chan error // from the old leader: how its request ended

	from netip.Addr // as it counts for the limits
	// Guarded by the server's mu.
	address *address
	silent  *place // among the listener's silent; nil once the first request has come
}

// newConn returns a connection that begin makes ready.
func newConn(l *listener, nc net.Conn, from netip.Addr) *conn {
	return &conn{s: l.s, listener: l, socket: socket{Conn: nc, spare: l.s.cfg.WriteTimeout}, from: from, opened: time.Now()}
}

// begin makes what a connection needs once it has a place.
func (c *conn) begin() {
	c.nc = &c.socket
	c.ended = make(chan error, 1)
	c.caller = dispatch.Caller{
		Host: kafkaHost(c.socket.RemoteAddr()), Drain: c.s.drain,
		Listener: c.listener.at, Principal: security.Anonymous,
	}
	c.ctx, c.cancel = context.WithCancel(c.s.base)
	c.watch.timer = time.AfterFunc(time.Hour, c.look)
	c.watch.timer.Stop()
}

// turn is what one request holds.
type turn struct {
	frame wire.Frame
	lease guard.Lease
	early bool // the one before may be in work still
	size  int  // in bytes
	conn  *conn
}

func (t *turn) release() {
	t.frame.Release()
	t.lease.Release()
}

// age is how long the connection has been open.
func (c *conn) age() time.Duration { return time.Since(c.opened) }

// lead secures the connection, reads the first request and goes on from there.
func (c *conn) lead() {
	if err := c.secure(); err != nil {
		c.end(err)
		return
	}
	t := &turn{}
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
		c.watch.begins(c.age())
		err := c.work(t)
		t.release()
		if c.watch.ends() {
			if err != nil {
				c.socket.interrupt() // ends the follower's wait for a request
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
	c.readsOn(t)
	if c.stranger() {
		c.opening.Works()
	}
	err := c.answer(t)
	if err == nil && c.stranger() {
		c.opening.Waits() // whoever reads may have begun to long ago
	}
	c.idleSince.Store(int64(c.age()))
	c.state.Store(idle)
	if err == nil && c.s.draining.Load() {
		return errShutdown
	}
	return err
}

func (c *conn) answer(t *turn) error {
	answer, err := c.s.dispatch.Dispatch(c.ctx, &c.caller, t.frame.Payload, &t.lease, &c.s.pool)
	t.frame.Release()
	if err != nil {
		return err
	}
	if c.caller.Session != nil && !c.known.Load() && c.caller.Session.LoggedIn() {
		c.comesIn()
	}
	if answer != nil {
		err = c.send(answer)
		answer.Release()
	}
	switch {
	case err != nil:
		return err
	case c.caller.Session != nil && c.caller.Session.Failed():
		return errLoginRefused
	}
	// A client that used too much would otherwise hold the memory of others meanwhile.
	t.lease.Release()
	c.mute(c.caller.Throttled())
	return nil
}

// send writes an answer.
func (c *conn) send(answer *dispatch.Answer) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	size := answer.Size()
	c.s.metrics.sent.Add(float64(size))
	c.socket.finishBy(time.Now().Add(c.s.cfg.WriteTimeout + perMiB(size)))
	if c.listener.transport == nil {
		return timeout(c.socket.writePieces(answer.Pieces()), errWriteTimeout)
	}
	defer c.socket.finished()
	var buffer *wire.Buffer
	if size > oneRecord {
		buffer = c.s.bulk.get(size)
	}
	if buffer == nil {
		return timeout(c.encipher(answer.Pieces()), errWriteTimeout)
	}
	c.socket.hold(buffer)
	err := errors.Join(c.encipher(answer.Pieces()), c.socket.release())
	c.s.bulk.put(buffer)
	return timeout(err, errWriteTimeout)
}

// encipher writes to the transport, in records that are full.
func (c *conn) encipher(pieces [][]byte) error {
	if len(pieces) == 1 {
		_, err := c.nc.Write(pieces[0])
		return err
	}
	w := c.s.records.Get().(*bufio.Writer)
	w.Reset(c.nc)
	defer func() {
		w.Reset(nil)
		c.s.records.Put(w)
	}()
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Flush()
}

// mute leaves the client's requests unread for a time, because it is throttled
// (KIP-219). The end of the connection ends that, if nothing came before it, and so
// does a shutdown.
func (c *conn) mute(d time.Duration) {
	if d <= 0 {
		return
	}
	c.mutedUntil.Store(int64(c.age() + d))
	c.unmuted()
}

// unmuted waits until the connection may be read.
func (c *conn) unmuted() {
	left := time.Duration(c.mutedUntil.Load()) - c.age()
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	case <-c.s.drain.Done():
	}
}

// read reads the next request.
func (c *conn) read(t *turn) error {
	if err := c.await(); err != nil {
		return err
	}
	c.unmuted()
	t.lease = c.lease()
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
	t.size = size
	if t.early {
		if err := c.early(t); err != nil {
			return err
		}
	}
	if err := c.frame(t, size); err != nil {
		return c.readFailed(err)
	}
	if c.caller.Session == nil {
		c.begins()
	}
	c.s.metrics.received.Add(float64(wire.PrefixSize + size))
	return nil
}

// frame reads the rest of a request of size bytes.
func (c *conn) frame(t *turn, size int) (err error) {
	if c.listener.transport != nil {
		if size > 2*oneRecord && !c.in.FrameArrived(size) {
			c.socket.readAhead(c.s.bulk, size)
		}
		defer c.socket.readNoMore()
	}
	t.frame, err = c.in.Frame(c.ctx, size, &t.lease)
	return err
}

// await waits for the first byte of a request, without limit while another one
// is in work.
func (c *conn) await() error {
	for {
		c.loggedIn()
		if !c.begun {
			c.socket.readBy = c.opened.Add(c.s.cfg.FirstRequestTimeout)
		} else if c.state.Load() == busy {
			c.socket.readBy = time.Now().Add(c.s.cfg.IdleTimeout)
		} else {
			c.socket.readBy = c.opened.Add(time.Duration(c.idleSince.Load()) + c.s.cfg.IdleTimeout)
		}
		err := c.in.Await()
		c.loggedIn()
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case !c.begun && c.firstRequestDue():
			return errFirstRequestTimeout
		case c.state.Load() == idle && c.age()-time.Duration(c.idleSince.Load()) >= c.s.cfg.IdleTimeout:
			return errIdleTimeout
		}
	}
}

// readWithin sets the time for the rest of a request of size bytes. The first
// one has a limit of its own.
func (c *conn) readWithin(began time.Time, size int) {
	if c.begun {
		c.socket.readBy = began.Add(c.s.cfg.ReadTimeout + perMiB(size))
	}
}

func (c *conn) readFailed(err error) error {
	if !c.begun {
		return timeout(err, errFirstRequestTimeout)
	}
	return timeout(err, errReadTimeout)
}

// closeIdle ends the connection unless a request is in work.
func (c *conn) closeIdle() {
	if c.state.CompareAndSwap(idle, closed) {
		c.socket.interrupt()
		c.cancel() // what its transport waits for
	}
}

// displace ends the connection because another one needs its place.
func (c *conn) displace() {
	c.displaced.Store(true)
	c.socket.interrupt()
	c.cancel()
}

// end closes the connection, for a reason. It is the last thing that its last
// goroutine does.
func (c *conn) end(err error) {
	if c.displaced.Load() {
		err = errDisplaced
	}
	c.judge(err)
	c.hangUp()
	c.cancel()
	c.report(err)
	c.s.forget(c)
}

// goodbye is how long a transport may take to say that the connection ends. A client
// that takes no more bytes must not hold up anything.
const goodbye = 100 * time.Millisecond

// hangUp closes the connection.
func (c *conn) hangUp() {
	if c.nc != &c.socket {
		c.socket.finishBy(time.Now().Add(goodbye))
		c.nc.Close()
	}
	c.socket.Close()
	c.socket.giveBack()
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
