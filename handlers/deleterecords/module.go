package deleterecords

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
)

// Module adds the handler to the gateway.
var Module = fx.Module("deleterecords", fx.Provide(func(b backend.Backend) handler.Out {
	return handler.Out{Handler: New(b)}
}))
