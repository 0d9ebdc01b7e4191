package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/tracing"
	"github.com/iggykafka/gateway/core/wire"
)

// Limits bound one request.
type Limits struct {
	// MaxFrame is the largest answer in bytes, its length prefix not counted.
	MaxFrame int
	// RequestMemory is what one body may decode to, in bytes.
	RequestMemory int64
}

// started is what requests are timed from: the time since then takes one look at
// one clock, where time.Now looks at two.
var started = time.Now()

// Dispatcher answers requests by a table. It is safe for concurrent use.
type Dispatcher struct {
	routes  map[int16]*route
	apis    []handler.Range
	limits  Limits
	metrics *metrics
	tracer  *tracing.Tracer
	mark    mark

	authorizer security.Authorizer
	audit      security.Audit
	quotas     security.Quotas
}

// Option changes what a Dispatcher does.
type Option func(*Dispatcher)

// WithTracer begins a span for every request of a served version. A nil tracer
// begins none.
func WithTracer(t *tracing.Tracer) Option { return func(d *Dispatcher) { d.tracer = t } }

// WithAuthorizer lets a authorize what handlers ask about, and audit record what it
// denies. A nil a allows everything; a nil audit records nothing.
func WithAuthorizer(a security.Authorizer, audit security.Audit) Option {
	return func(d *Dispatcher) { d.authorizer, d.audit = a, audit }
}

// New returns a dispatcher over a table. A nil reg registers no metrics.
func New(t *Table, l Limits, reg prometheus.Registerer, opts ...Option) (*Dispatcher, error) {
	m, err := newMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("metrics of the dispatcher: %w", err)
	}
	d := &Dispatcher{routes: make(map[int16]*route, len(t.entries)), apis: t.apis, limits: l, metrics: m, mark: newMark()}
	for key, e := range t.entries {
		d.routes[key] = m.route(e)
	}
	for _, opt := range opts {
		opt(d)
	}
	return d, nil
}

// Caller holds what is known of a client: one for each connection, used by one
// request at a time.
type Caller struct {
	// Host is the peer's address as Kafka writes it: "/10.0.0.7".
	Host string
	// Drain ends when the gateway shuts down; nil never ends.
	Drain context.Context
	// Listener is where the connection came in.
	Listener handler.Listener
	// Principal is who the client is by its connection alone.
	Principal security.Principal
	// Session is the client's login; nil where the listener has none. It then
	// decides who the client is.
	Session Session
	// clientID is that of the last request, kept because it hardly ever
	// changes: a copy for each request would be garbage.
	clientID string
	memory   memory
	answer   Answer
	access   access
	account  account
	request  request
}

// request is what is measured of the request in work.
type request struct {
	received int           // bytes, its length prefix included
	waited   time.Duration // by handler.Call.Park
	codes    tally
}

func (c *Caller) setClientID(id []byte) {
	if string(id) != c.clientID {
		c.clientID = string(id)
	}
}

// Dispatch answers one request, given the payload of its frame, and returns the
// answer as it goes on the wire, in buffers of pool. It has to be released before the
// caller's next request. Nil means that no answer is due.
//
// The request's body may be modified, and is not used after Dispatch returns.
// What the call holds is charged to lease, which the caller releases once the
// answer is written. The context ends when the client goes away.
//
// The error is an *Error and means that the connection has to close.
func (d *Dispatcher) Dispatch(
	ctx context.Context, from *Caller, payload []byte, lease *guard.Lease, pool *wire.Pool,
) (*Answer, error) {
	from.account.throttle = 0
	if from.Session != nil && from.Session.Bare() {
		return d.token(ctx, from, payload, pool)
	}
	head, err := wire.ParseHeader(payload)
	if err != nil {
		return nil, &Error{Reason: BadHeader, Err: err}
	}
	r, known := d.routes[head.Key]
	served := known && r.spec.Contains(head.Version)
	// Of a version that is not served only the part of the header is read that
	// all versions share.
	id, body, err := wire.Split(payload, served && head.Version >= r.flexibleFrom)
	if err != nil {
		return nil, &Error{Reason: BadHeader, Err: err}
	}
	from.setClientID(id)
	from.request = request{received: wire.PrefixSize + len(payload), codes: tally{route: r}}
	if known && from.Session != nil {
		if err := from.Session.Admit(r.spec, head.Version, from.clientID); err != nil {
			return nil, from.fail(head, LoginRefused, fmt.Errorf("%w: %w", ErrLogin, err))
		}
	}
	switch {
	case served:
		return d.answer(ctx, r, from, head, body, lease, pool)
	case known:
		return d.unsupported(r, from, head, lease, pool)
	}
	d.metrics.unknownKey.Inc()
	return nil, from.fail(head, UnknownKey, ErrUnknownKey)
}

// unsupported answers a version outside the range, or refuses to.
func (d *Dispatcher) unsupported(
	r *route, from *Caller, head wire.Header, lease *guard.Lease, pool *wire.Pool,
) (*Answer, error) {
	r.unsupported.Inc()
	if r.spec.Unsupported == nil {
		return nil, from.fail(head, UnsupportedVersion, fmt.Errorf("%w, %d to %d",
			ErrUnsupportedVersion, r.spec.Min, r.spec.Max))
	}
	return d.encode(r, from, head, r.spec.Unsupported(d.call(from, head.Key)), pool)
}

// answer takes a request of a served version from its body to its answer. It is
// the one place that sees every call: it counts, times and survives them.
func (d *Dispatcher) answer(
	ctx context.Context, r *route, from *Caller, head wire.Header, body []byte, lease *guard.Lease, pool *wire.Pool,
) (answer *Answer, err error) {
	began := time.Since(started)
	d.metrics.inFlight.Inc()
	from.memory.lease, from.memory.pool = lease, pool
	ctx, span := d.begin(ctx, r, from, head)
	defer func() {
		d.metrics.inFlight.Dec()
		if p := recover(); p != nil {
			d.metrics.panics.Inc()
			answer, err = nil, from.panicked(head, p)
		}
		if answer == nil {
			from.memory.takeBack()
		}
		r.answered(head.Version, time.Since(started)-began, from.request, answer)
		if span != nil {
			end(span, from.request, answer, err)
		}
	}()
	d.open(from, r)
	req := r.NewRequest()
	req.SetVersion(head.Version)
	resp, err := d.respond(ctx, r, from, req, body)
	switch {
	case err != nil:
		return nil, from.fail(head, reasonOf(err), err)
	case resp == nil:
		d.charge(r, from, head, nil, nil, 0)
		return nil, nil
	}
	resp.SetVersion(head.Version)
	if answer, err = d.encode(r, from, head, resp, pool); err == nil && d.quotas != nil {
		d.charge(r, from, head, resp, answer, time.Since(started)-began-from.request.waited)
	}
	return answer, err
}

// respond checks, decodes and handles a request.
func (d *Dispatcher) respond(
	ctx context.Context, r *route, from *Caller, req kmsg.Request, body []byte,
) (kmsg.Response, error) {
	found, err := r.spec.Shape.Check(req.GetVersion(), body, d.limits.RequestMemory)
	if err != nil {
		return r.refuse(req, err)
	}
	if err := from.memory.Reserve(ctx, found.Cost); err != nil {
		return nil, err
	}
	if err := req.ReadFrom(body); err != nil {
		return r.refuse(req, err)
	}
	return r.Handle(ctx, d.call(from, r.spec.Key), req)
}

// errBadRequest marks a body that does not decode and whose key's policy is to
// close.
var errBadRequest = errors.New("bad request")

// refuse applies the key's policy to a body that does not decode.
func (r *route) refuse(req kmsg.Request, cause error) (kmsg.Response, error) {
	r.badRequest.Inc()
	if resp := r.spec.BadRequest.Answer(req); resp != nil {
		return resp, nil
	}
	return nil, fmt.Errorf("%w: %w", errBadRequest, cause)
}

func (d *Dispatcher) call(from *Caller, key int16) handler.Call {
	return handler.Call{
		ClientID:  from.clientID,
		Host:      from.Host,
		Principal: from.principal(),
		Listener:  from.Listener,
		Access:    d.accessOf(from, key),
		Account:   from.account.forHandlers(),
		Login:     from.login(),
		MaxFrame:  d.limits.MaxFrame,
		APIs:      d.apis,
		Memory:    &from.memory,
		Drain:     from.Drain,
		Waited:    &from.request.waited,
	}
}

// encode writes an answer at the version it carries.
func (d *Dispatcher) encode(
	r *route, from *Caller, head wire.Header, resp kmsg.Response, pool *wire.Pool,
) (*Answer, error) {
	if resp.Key() != head.Key {
		return nil, from.fail(head, HandlerFailed, fmt.Errorf("%w, %d", errWrongResponse, resp.Key()))
	}
	r.codes.find(resp, &from.request.codes)
	answer := from.newAnswer(pool)
	answer.write(r, &d.mark, head, resp)
	if n := answer.payload(); n > d.limits.MaxFrame {
		answer.Release()
		return nil, from.fail(head, AnswerTooLarge, fmt.Errorf("%w: %d bytes, %d allowed",
			ErrAnswerTooLarge, n, d.limits.MaxFrame))
	}
	return answer, nil
}

func (c *Caller) fail(head wire.Header, why Reason, err error) *Error {
	return &Error{Reason: why, Key: head.Key, Version: head.Version, ClientID: c.clientID, Err: err}
}

// panicked is the error of a request whose handler did.
func (c *Caller) panicked(head wire.Header, with any) *Error {
	err := c.fail(head, Panicked, fmt.Errorf("%w: %v", ErrPanic, with))
	err.Stack = debug.Stack()
	return err
}

// reasonOf classifies an error of respond.
func reasonOf(err error) Reason {
	var refusal *handler.Refusal
	switch {
	case errors.As(err, &refusal):
		return Refused
	case errors.Is(err, errBadRequest):
		return BadRequest
	case errors.Is(err, guard.ErrBudget):
		return OverBudget
	case errors.Is(err, ErrLogin):
		return LoginRefused
	}
	return HandlerFailed
}
