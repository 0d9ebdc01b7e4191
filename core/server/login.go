package server

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/wire"
)

const (
	// freeMemory is what each request may hold without being charged to the
	// memory budget, in bytes.
	freeMemory = 64 << 10
	// freeBeforeLogin is the same of a client that has yet to make its first
	// request, or to log in.
	freeBeforeLogin = 8 << 10
	// tokenHeader is what a frame before the login may hold beside the token, in
	// bytes: the header with the client id, or what ApiVersions tells of the client.
	tokenHeader = 4 << 10
)

// secure agrees with the client on the transport, and begins its login, where the
// listener asks for them. Both have until first_request_timeout, together with the
// first request.
func (c *conn) secure() error {
	by := c.opened.Add(c.s.cfg.FirstRequestTimeout)
	if t := c.listener.transport; t != nil {
		ctx, cancel := context.WithDeadline(c.ctx, by)
		defer cancel()
		c.socket.readBy = by
		c.socket.finishBy(by)
		c.socket.turn = c.s.turnstile(ctx, c)
		nc, who, err := t.Secure(ctx, &c.socket)
		c.socket.turn.leave()
		if c.socket.turn.turns > 0 {
			c.opening = c.socket.turn.opening
		}
		c.socket.turn = nil
		c.socket.finished()
		if err != nil {
			return c.notSecure(ctx, err)
		}
		c.nc, c.caller.Principal = nc, who
	}
	limit := c.s.cfg.MaxFrameSize
	if c.listener.protocol.Login {
		c.caller.Session = c.s.with.logins.Session(security.Requester{
			Principal: c.caller.Principal, Host: c.caller.Host[1:], Listener: c.listener.cfg.Name,
		}, c.listener.cfg.Mechanisms)
		limit = min(limit, c.s.with.logins.MaxToken()+tokenHeader)
	}
	c.in = wire.NewReader(c.nc, &c.s.pool, limit)
	return nil
}

// notSecure says why there was no agreement on the transport.
func (c *conn) notSecure(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), c.firstRequestDue():
		return errFirstRequestTimeout
	case c.gone(err):
		return err
	}
	return fmt.Errorf("%w: %w", errInsecure, err)
}

// tellAudit tells of a connection that the server ended before its client was known. Of
// what comes in a request its session tells.
func (c *conn) tellAudit(err error) {
	a := c.s.with.audit
	if a == nil || c.known.Load() {
		return
	}
	for _, told := range []error{errInsecure, errFirstRequestTimeout, wire.ErrFrameSize} {
		if errors.Is(err, told) {
			a.ConnectionRefused(security.Requester{
				Principal: security.Anonymous, Host: c.caller.Host[1:], Listener: c.listener.cfg.Name,
			}, err)
			return
		}
	}
}

// turnstile returns the connection's way to the processors.
func (s *Server) turnstile(ctx context.Context, c *conn) *turnstile {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := security.NewQueue(computingEach(s.computing))
	if a := c.address; a != nil { // nil: it has been displaced, and ends soon
		if a.computing == nil {
			a.computing = own
		}
		own = a.computing
	}
	suspects := s.computing.Suspects
	return &turnstile{
		ctx: ctx, own: own, all: s.computing, opening: suspects.Opens(c.from),
		gone: func() bool { return hungUp(c.socket.Conn) },
		suspect: func() bool {
			suspect := suspects.Has(c.from)
			if suspect {
				s.metrics.suspected.Inc()
				s.tellSuspect(c)
			}
			return suspect
		},
	}
}

// tellSuspect logs, once a minute, who is a suspect.
func (s *Server) tellSuspect(c *conn) {
	s.mu.Lock()
	tell := onceAMinute(&s.toldSuspect)
	s.mu.Unlock()
	if tell {
		s.log.Warn("connections of an address shake hands and are not used, over and over: their handshakes wait for each other",
			zap.String("listener", c.listener.cfg.Name), zap.Stringer("client", c.from))
	}
}

// loggedIn notes that the client has logged in, if it has.
func (c *conn) loggedIn() {
	if !c.begun && c.caller.Session != nil && c.caller.Session.LoggedIn() {
		c.begins()
	}
}

// begins notes that the client has made its first request, and logged in.
func (c *conn) begins() {
	if c.begun {
		return
	}
	c.begun = true
	c.in.Limit(c.s.cfg.MaxFrameSize)
	c.comesIn()
}

// comesIn notes that the client is no stranger any more. Of a login that takes long the
// reader learns with the next request only.
func (c *conn) comesIn() {
	if c.known.Swap(true) {
		return
	}
	c.s.mu.Lock()
	c.s.places.spoke(c)
	c.s.mu.Unlock()
	if c.opening != nil {
		c.opening.Good()
	}
}

// stranger reports whether its opening is not over.
func (c *conn) stranger() bool { return c.opening != nil && !c.known.Load() }

// judge notes how the opening of a stranger ended.
func (c *conn) judge(err error) {
	if !c.stranger() {
		return
	}
	var failed *dispatch.Error
	switch {
	case c.s.draining.Load(), errors.Is(err, guard.ErrBudget),
		errors.Is(err, security.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		c.opening.Void()
	case errors.As(err, &failed):
		switch failed.Reason {
		case dispatch.HandlerFailed, dispatch.Panicked, dispatch.AnswerTooLarge, dispatch.OverBudget:
			c.opening.Void()
		default:
			c.opening.Lost()
		}
	case errors.Is(err, errLoginRefused), errors.Is(err, errInsecure), errors.Is(err, wire.ErrFrameSize):
		c.opening.Lost()
	default:
		c.opening.Left()
	}
}

// lease is what the next request holds of the memory budget.
func (c *conn) lease() guard.Lease {
	if !c.begun {
		return c.s.budget.LeaseAbove(freeBeforeLogin)
	}
	return c.s.budget.LeaseAbove(freeMemory)
}

// firstRequestDue reports whether the time for the first request is over.
func (c *conn) firstRequestDue() bool {
	return c.age() >= c.s.cfg.FirstRequestTimeout
}
