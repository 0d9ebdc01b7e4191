package offsetcommit

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(8,
	guard.String(),                     // group
	guard.Int32(),                      // generation
	guard.String(),                     // member id
	guard.String().Nullable().Since(7), // instance id
	guard.Int64().Until(4),             // retention time
	guard.Array[kmsg.OffsetCommitRequestTopic](
		guard.String().Until(9), // topic
		guard.UUID().Since(10),  // topic id
		guard.Array[kmsg.OffsetCommitRequestTopicPartition](
			guard.Int32(),             // partition
			guard.Int64(),             // offset
			guard.Int32().Since(6),    // leader epoch
			guard.String().Nullable(), // metadata
		),
	),
)
