package alterconfigs

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(2,
	guard.Array[kmsg.AlterConfigsRequestResource](
		guard.Int8(), // ResourceType
		guard.String(),
		guard.Array[kmsg.AlterConfigsRequestResourceConfig](
			guard.String(),
			guard.String().Nullable(),
		),
	),
	guard.Bool(), // ValidateOnly
)
