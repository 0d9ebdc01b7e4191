package incrementalalterconfigs

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(1,
	guard.Array[kmsg.IncrementalAlterConfigsRequestResource](
		guard.Int8(), // ResourceType
		guard.String(),
		guard.Array[kmsg.IncrementalAlterConfigsRequestResourceConfig](
			guard.String(),
			guard.Int8(), // Op
			guard.String().Nullable(),
		),
	),
	guard.Bool(), // ValidateOnly
)
