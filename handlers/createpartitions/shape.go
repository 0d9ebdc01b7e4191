package createpartitions

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(2,
	guard.Array[kmsg.CreatePartitionsRequestTopic](
		guard.String(),
		guard.Int32(), // Count
		guard.Array[kmsg.CreatePartitionsRequestTopicAssignment](
			guard.Array[int32](guard.Int32()),
		).Nullable(),
	),
	guard.Int32(), // TimeoutMillis
	guard.Bool(),  // ValidateOnly
)
