package unregisterbroker

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module adds the handler to the gateway.
var Module = fx.Module("unregisterbroker", fx.Provide(func(node *settings.Node) handler.Out {
	return handler.Out{Handler: New(node)}
}))
