package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/wire"
)

// Session is the login of one connection. It is used by one request at a time,
// but for Principal and LoggedIn, which are asked from other goroutines, too.
type Session interface {
	handler.Login
	// Admit reports why a request may not be answered now: the client has yet to
	// log in, its login has expired, or it failed. The error closes the connection.
	// The version may be one that spec does not serve. clientID is the header's: bare
	// tokens that follow belong to the last one.
	Admit(spec handler.Spec, version int16, clientID string) error
	// Bare reports whether the next frame is a token without a header, as they
	// follow version 0 of SaslHandshake.
	Bare() bool
	// Failed reports that the login was refused: the answer that says so is the
	// last one.
	Failed() bool
	// LoggedIn reports whether a login is complete, which a new one that has
	// begun does not change.
	LoggedIn() bool
	// Principal returns who has logged in, security.Anonymous before that.
	Principal() security.Principal
}

// ErrLogin marks errors of sessions: what they refuse and why. Those in
// handler.Authenticated are marked by the session itself.
var ErrLogin = errors.New("not logged in")

// requester returns who makes the request in work.
func (c *Caller) requester() security.Requester {
	who := security.Requester{Principal: c.principal(), Listener: c.Listener.Name, ClientID: c.clientID}
	if len(c.Host) > 0 {
		who.Host = c.Host[1:] // without Kafka's slash
	}
	return who
}

func (c *Caller) principal() security.Principal {
	if c.Session != nil {
		return c.Session.Principal()
	}
	return c.Principal
}

// login is the session as handlers see it.
func (c *Caller) login() handler.Login {
	if c.Session == nil {
		return nil
	}
	return c.Session
}

// token answers a frame that is a bare token of a login: with a bare token.
func (d *Dispatcher) token(
	ctx context.Context, from *Caller, token []byte, pool *wire.Pool,
) (answer *Answer, err error) {
	head := wire.Header{Key: int16(kmsg.SASLHandshake)} // which announced the token
	defer func() {
		if p := recover(); p != nil {
			d.metrics.panics.Inc()
			answer, err = nil, from.panicked(head, p)
		}
	}()
	ctx, end := d.call(from, head.Key).Park(ctx)
	defer end()
	done := from.Session.Authenticate(ctx, token)
	switch {
	case done.Err != nil:
		return nil, from.fail(head, LoginRefused, done.Err)
	case done.Code != 0: // a bare token has no room for a code
		return nil, from.fail(head, LoginRefused, fmt.Errorf("%w: %s", ErrLogin, done.Message))
	}
	answer = from.newAnswer(pool)
	answer.token(done.Token)
	return answer, nil
}

// access is the authorizer as the request in work sees it: it implements
// handler.Access. A connection has one request in work at a time, so each has one
// of these, and uses it again.
type access struct {
	authorizer security.Authorizer
	audit      security.Audit
	who        security.Requester
	key        kmsg.Key
}

// secondAnswer bounds how long an authorizer is asked again.
const secondAnswer = 5 * time.Second

// ask asks the authorizer. A no that came when the time of the request was over, or its
// client gone, says nothing about the right: it would tell a client with too short a
// timeout that it is not authorized, which clients take as the end, and the audit of
// denials that were none. So it is asked again then.
func (a *access) ask(ctx context.Context, allowed func(context.Context) bool) bool {
	if allowed(ctx) {
		return true
	}
	if ctx.Err() == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secondAnswer)
	defer cancel()
	return allowed(ctx)
}

// Authorize implements handler.Access.
func (a *access) Authorize(ctx context.Context, op kmsg.ACLOperation, on security.Resource, quiet bool) bool {
	ok := a.ask(ctx, func(ctx context.Context) bool { return a.authorizer.Authorize(ctx, a.who, op, on) })
	if !ok && !quiet && a.audit != nil {
		a.audit.Denied(a.who, a.key, op, on)
	}
	return ok
}

// AuthorizeAny implements handler.Access.
func (a *access) AuthorizeAny(ctx context.Context, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	ok := a.ask(ctx, func(ctx context.Context) bool { return a.authorizer.AuthorizeAny(ctx, a.who, op, on) })
	if !ok && a.audit != nil {
		a.audit.Denied(a.who, a.key, op, security.Resource{Type: on, Name: "*"})
	}
	return ok
}

// accessOf prepares the caller's access for a request; nil without an authorizer.
func (d *Dispatcher) accessOf(from *Caller, key int16) handler.Access {
	if d.authorizer == nil {
		return nil
	}
	from.access = access{authorizer: d.authorizer, audit: d.audit, who: from.requester(), key: kmsg.Key(key)}
	return &from.access
}
