package client

import (
	"errors"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/zap"
)

const (
	// pingInterval is the time between two pings of a connection, idle or not: a
	// server that verifies heartbeats looks at pings alone, and drops a client
	// after 6 s by default.
	pingInterval = 2 * time.Second
	// returnGrace is how long an SDK call may take to return after its sockets
	// were closed, before its caller is answered without it.
	returnGrace = 250 * time.Millisecond
	// tellEvery is the time between two lines about a server that is away, or about
	// messages that it does not manage to store.
	tellEvery = time.Minute
	// abandonAfter is how long it may take before its connection is replaced
	// without it.
	abandonAfter = 2 * time.Second
)

// session is one connection that is logged in.
type session struct {
	client *Client
	lane   *lane
	sdk    iggcon.Client
	relay  *relay
	// me is the address by which the server lists this connection.
	me string
	// number tells it from all other connections of the client.
	number uint64
	done   chan struct{} // closed when serve has ended
}

// serve takes requests, one at a time, until the connection ends.
func (s *session) serve(requests <-chan *request, stop <-chan struct{}) {
	defer close(s.done)
	defer s.close()
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	for {
		select {
		case <-s.relay.dead:
			return
		case <-stop:
			return
		case r := <-requests:
			s.client.metrics.inFlight.Inc()
			s.lane.busy.Add(1)
			s.do(r)
			s.lane.busy.Add(-1)
			s.client.metrics.inFlight.Dec()
		case <-ping.C:
			s.do(newRequest(opPing, false, func(s *session) error { return s.sdk.Ping() }))
		}
	}
}

// close gives the connection up; the SDK's Close blocks while a call runs, so
// this is for when none does.
func (s *session) close() {
	s.relay.end(errSDKClosed)
	_ = s.sdk.Close()
	<-s.relay.done
}

// do makes one request.
func (s *session) do(r *request) {
	select {
	case <-s.relay.dead:
		r.finish(&notSent{s.relay.cause})
		return
	default:
	}
	if r.only != 0 && r.only != s.number {
		r.finish(unavailable(ErrOtherConnection))
		return
	}
	s.relay.begin()
	r.began, r.by = time.Now(), s.number
	limit := s.client.cfg.RequestTimeout + r.more
	if r.more > 0 {
		s.client.long.begin(r, r.began.Add(limit))
		defer s.client.long.end(r)
	}
	deadline := time.AfterFunc(limit, func() { s.expire(r) })
	err := safely(func() error { return r.run(s) })
	deadline.Stop()
	s.client.metrics.took(r.op, time.Since(r.began))
	r.state.CompareAndSwap(running, returned)
	r.finishWith(func() error { return s.judge(r, err) })
}

// expire gives up the connection of a request whose time is over, after which
// its call returns; where it does not, the caller is answered all the same.
func (s *session) expire(r *request) {
	if left := s.client.long.left(r); left > 0 && r.state.Load() == running {
		time.AfterFunc(min(left, s.client.cfg.RequestTimeout), func() { s.expire(r) })
		return
	}
	if !r.state.CompareAndSwap(running, expired) {
		return
	}
	// First, so that who is answered because of it finds it out.
	s.client.timedOut(r.began)
	s.relay.end(errDeadline)
	time.AfterFunc(returnGrace, func() { r.finishWith(func() error { return s.lost(r, errDeadline) }) })
}

// judge turns the error of an SDK call into one of this package's, and ends the
// connection when it must not be used again.
func (s *session) judge(r *request, err error) error {
	if err == nil {
		return nil
	}
	code := Code(err)
	switch {
	case errors.Is(err, ErrBadReply), code == 0:
		s.relay.end(err)
		return s.broken(r, err)
	case sessionGone(code):
		s.relay.end(err)
		return unavailable(err)
	case outOfStep(code):
		s.relay.end(err)
	case r.sends && !decided(code):
		s.client.failedToStore(err)
		s.relay.end(err)
		return s.lost(r, err)
	}
	return err
}

// failedToStore tells, at most once in tellEvery, that the server does not manage to
// store messages. They are sent again, so that nobody else tells.
func (c *Client) failedToStore(err error) {
	now, last := time.Now().UnixNano(), c.toldFailure.Load()
	if last != 0 && now-last < int64(tellEvery) || !c.toldFailure.CompareAndSwap(last, now) {
		return
	}
	c.log.Error("the Iggy server fails to store messages; its own log says why", zap.Error(err))
}

// broken says what became of a request whose connection has ended.
func (s *session) broken(r *request, err error) error {
	<-s.relay.done
	if !errors.Is(err, ErrBadReply) {
		err = s.relay.cause
	}
	if !s.relay.left.Load() {
		return &notSent{err}
	}
	return s.lost(r, err)
}

// lost says that the reply to a request will not come.
func (s *session) lost(r *request, cause error) error {
	if !r.changes {
		return unavailable(cause)
	}
	s.client.metrics.lost.Inc()
	s.client.log.Debug("the outcome of a request to the Iggy server is unknown", zap.String("connection", s.me), zap.Error(cause))
	return &Lost{connection: s.me, silent: errors.Is(cause, errDeadline), cause: cause}
}
