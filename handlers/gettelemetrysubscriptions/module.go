package gettelemetrysubscriptions

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/telemetry"
)

// Module adds the handler to the gateway. It needs telemetry.Module.
var Module = fx.Module("gettelemetrysubscriptions", fx.Provide(func(store *telemetry.Store) handler.Out {
	return handler.Out{Handler: New(store)}
}))
