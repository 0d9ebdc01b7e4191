package offsetdelete

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body.
var shape = guard.Body(guard.NeverFlexible,
	guard.String(), // group
	guard.Array[kmsg.OffsetDeleteRequestTopic](
		guard.String(),
		guard.Array[kmsg.OffsetDeleteRequestTopicPartition](guard.Int32()),
	),
)
