package joingroup

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// Module adds the handler to the gateway.
var Module = fx.Module("joingroup", fx.Provide(func(groups coordinator.Coordinator) handler.Out {
	return handler.Out{Handler: New(groups)}
}))
