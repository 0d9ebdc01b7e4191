package describetopicpartitions

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module serves DescribeTopicPartitions.
var Module = fx.Module("describetopicpartitions", fx.Provide(
	func(b backend.Backend, node *settings.Node, cfg settings.Describe) handler.Out {
		return handler.Out{Handler: New(b, node, cfg)}
	}))
