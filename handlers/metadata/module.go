package metadata

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module serves Metadata.
var Module = fx.Module("metadata", fx.Provide(
	func(b backend.Backend, node *settings.Node, cfg settings.Topics) handler.Out {
		return handler.Out{Handler: New(b, cluster.New(b, node), cfg)}
	}))
