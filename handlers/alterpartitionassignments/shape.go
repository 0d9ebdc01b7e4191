package alterpartitionassignments

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(0,
	guard.Int32(),         // timeout
	guard.Bool().Since(1), // allow a change of the replication factor
	guard.Array[kmsg.AlterPartitionAssignmentsRequestTopic](
		guard.String(),
		guard.Array[kmsg.AlterPartitionAssignmentsRequestTopicPartition](
			guard.Int32(),
			guard.Array[int32](guard.Int32()).Nullable(), // replicas
		),
	),
)
