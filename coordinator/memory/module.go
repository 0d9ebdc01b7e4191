package memory

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
)

// Module provides the memory coordinator. It needs a coordinator.Config. Exactly
// one coordinator may stand in the list that builds the gateway: to use another,
// put its module there instead.
var Module = fx.Module("memory", fx.Provide(func(cfg coordinator.Config) coordinator.Coordinator { return New(cfg) }))
