package offsetcommit

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module adds the handler to the gateway.
var Module = fx.Module("offsetcommit", fx.Provide(
	func(groups coordinator.Coordinator, store backend.Backend, limits settings.Offsets) handler.Out {
		return handler.Out{Handler: New(groups, store, limits)}
	}))
