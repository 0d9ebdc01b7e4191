package dispatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/tracing"
)

// Wrap is what a module returns to put a [Middleware] around every handler. The
// order of several is not defined.
type Wrap struct {
	fx.Out
	Middleware Middleware `group:"gateway.middleware"`
}

type tableIn struct {
	fx.In
	Given      handler.In
	Middleware []Middleware `group:"gateway.middleware"`
}

type dispatcherIn struct {
	fx.In
	Table   *Table
	Limits  Limits
	Metrics prometheus.Registerer
	Tracer  *tracing.Tracer `optional:"true"`
	// Without an authorizer everything is allowed.
	Authorizer security.Authorizer `optional:"true"`
	Audit      security.Audit      `optional:"true"`
	// Without quotas nothing is bounded.
	Quotas security.Quotas `optional:"true"`
}

// Module provides *Table and *Dispatcher from the handlers of the graph,
// [Limits] and a prometheus.Registerer. With a *tracing.Tracer requests are traced, and
// with a security.Authorizer they are authorized, with security.Quotas charged.
var Module = fx.Module("dispatch", fx.Provide(
	func(in tableIn) (*Table, error) {
		return NewTable(in.Given.Handlers, in.Given.Replacements, in.Middleware...)
	},
	func(in dispatcherIn) (*Dispatcher, error) {
		return New(in.Table, in.Limits, in.Metrics, WithTracer(in.Tracer), WithAuthorizer(in.Authorizer, in.Audit),
			WithQuotas(in.Quotas))
	},
))
