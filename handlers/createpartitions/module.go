package createpartitions

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module serves CreatePartitions.
var Module = fx.Module("createpartitions", fx.Provide(
	func(b backend.Backend, node *settings.Node, cfg settings.Topics) handler.Out {
		return handler.Out{Handler: New(b, node, cfg)}
	}))
