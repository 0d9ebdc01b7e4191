package memory

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/chosen"
)

// Module provides the memory coordinator, whatever groups.coordinator says. It
// needs a coordinator.Config. Exactly one coordinator may stand in the list that
// builds the gateway: to use another, put its module there instead.
var Module = fx.Module("memory", fx.Provide(func(cfg coordinator.Config) coordinator.Coordinator { return New(cfg) }))

// Candidate is the line of the memory coordinator in a list to choose from.
var Candidate = fx.Provide(func(cfg coordinator.Config) chosen.Out {
	return chosen.Out{Candidate: chosen.Candidate{
		Name: "memory",
		Make: func() coordinator.Coordinator { return New(cfg) },
	}}
})
