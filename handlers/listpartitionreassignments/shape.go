package listpartitionreassignments

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body.
var shape = guard.Body(0,
	guard.Int32(), // timeout
	guard.Array[kmsg.ListPartitionReassignmentsRequestTopic](
		guard.String(),
		guard.Array[int32](guard.Int32()),
	).Nullable(),
)
