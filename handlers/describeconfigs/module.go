package describeconfigs

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Module serves DescribeConfigs.
var Module = fx.Module("describeconfigs", fx.Provide(
	func(b backend.Backend, catalog *topicconfig.Catalog, node *settings.Node, broker settings.Broker) handler.Out {
		return handler.Out{Handler: New(b, catalog, node, broker)}
	}))
