package createtopics

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(5,
	guard.Array[kmsg.CreateTopicsRequestTopic](
		guard.String(),
		guard.Int32(), // NumPartitions
		guard.Int16(), // ReplicationFactor
		guard.Array[kmsg.CreateTopicsRequestTopicReplicaAssignment](
			guard.Int32(),
			guard.Array[int32](guard.Int32()),
		),
		guard.Array[kmsg.CreateTopicsRequestTopicConfig](
			guard.String(),
			guard.String().Nullable(),
		),
	),
	guard.Int32(), // TimeoutMillis
	guard.Bool(),  // ValidateOnly
)
