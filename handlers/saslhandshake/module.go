package saslhandshake

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
)

// Module adds the handler to the gateway.
var Module = fx.Module("saslhandshake", fx.Provide(func() handler.Out {
	return handler.Out{Handler: New()}
}))
