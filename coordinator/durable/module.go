package durable

import (
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/chosen"
)

// Params is what the coordinator is made of.
type Params struct {
	fx.In
	Config    coordinator.Config
	Ledger    coordinator.Ledger
	Log       *zap.Logger
	Lifecycle fx.Lifecycle
}

// Module provides the durable coordinator, whatever groups.coordinator says. It
// needs a coordinator.Config, a coordinator.Ledger and a log.
var Module = fx.Module("durable", fx.Provide(provide))

// Candidate is the line of the durable coordinator in a list to choose from.
var Candidate = fx.Provide(func(p Params) chosen.Out {
	return chosen.Out{Candidate: chosen.Candidate{
		Name: "durable",
		Make: func() coordinator.Coordinator { return provide(p) },
	}}
})

func provide(p Params) coordinator.Coordinator {
	c := New(p.Config, p.Ledger, p.Log.Named("groups"))
	p.Lifecycle.Append(fx.StartStopHook(c.Start, c.Stop))
	return c
}
