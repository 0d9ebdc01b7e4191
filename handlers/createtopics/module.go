package createtopics

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Module serves CreateTopics.
var Module = fx.Module("createtopics", fx.Provide(
	func(b backend.Backend, catalog *topicconfig.Catalog, node *settings.Node, cfg settings.Topics) handler.Out {
		return handler.Out{Handler: New(b, catalog, node, cfg)}
	}))
