package apiversions

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module serves ApiVersions.
var Module = fx.Module("apiversions", fx.Provide(func(b backend.Backend, node *settings.Node) handler.Out {
	return handler.Out{Handler: New(cluster.New(b, node))}
}))
