package offsetforleaderepoch

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(4,
	guard.Int32().Since(3), // replica id
	guard.Array[kmsg.OffsetForLeaderEpochRequestTopic](
		guard.String(),
		guard.Array[kmsg.OffsetForLeaderEpochRequestTopicPartition](
			guard.Int32(),
			guard.Int32().Since(2), // current leader epoch
			guard.Int32(),          // leader epoch
		),
	),
)
