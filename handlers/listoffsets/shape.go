package listoffsets

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(6,
	guard.Int32(),         // replica id
	guard.Int8().Since(2), // isolation level
	guard.Array[kmsg.ListOffsetsRequestTopic](
		guard.String(),
		guard.Array[kmsg.ListOffsetsRequestTopicPartition](
			guard.Int32(),
			guard.Int32().Since(4), // current leader epoch
			guard.Int64(),          // timestamp
		),
	),
	guard.Int32().Since(10), // timeout
)
