package offsetdelete

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
)

// Module adds the handler to the gateway.
var Module = fx.Module("offsetdelete", fx.Provide(func(groups coordinator.Coordinator, b backend.Backend) handler.Out {
	return handler.Out{Handler: New(groups, b)}
}))
