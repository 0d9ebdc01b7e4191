package dispatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
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

// Module provides *Table and *Dispatcher from the handlers of the graph,
// [Limits] and a prometheus.Registerer.
var Module = fx.Module("dispatch", fx.Provide(
	func(in tableIn) (*Table, error) {
		return NewTable(in.Given.Handlers, in.Given.Replacements, in.Middleware...)
	},
	func(t *Table, l Limits, reg prometheus.Registerer) (*Dispatcher, error) { return New(t, l, reg) },
))
