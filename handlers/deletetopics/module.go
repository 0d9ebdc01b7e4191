package deletetopics

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Module serves DeleteTopics.
var Module = fx.Module("deletetopics", fx.Provide(func(b backend.Backend, cfg settings.Topics) handler.Out {
	return handler.Out{Handler: New(b, cfg)}
}))
