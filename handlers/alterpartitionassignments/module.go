package alterpartitionassignments

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module adds the handler to the gateway.
var Module = fx.Module("alterpartitionassignments", fx.Provide(func(b backend.Backend, node *settings.Node) handler.Out {
	return handler.Out{Handler: New(b, node)}
}))
