package produce

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(9,
	guard.String().Nullable(), // transactional id
	guard.Int16(),             // acks
	guard.Int32(),             // timeout
	guard.Array[kmsg.ProduceRequestTopic](
		guard.String().Until(12),
		guard.UUID().Since(13),
		guard.Array[kmsg.ProduceRequestTopicPartition](
			guard.Int32(),
			guard.Bytes().Nullable(), // records
		),
	),
)
