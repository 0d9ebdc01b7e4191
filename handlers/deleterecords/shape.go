package deleterecords

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(2,
	guard.Array[kmsg.DeleteRecordsRequestTopic](
		guard.String(),
		guard.Array[kmsg.DeleteRecordsRequestTopicPartition](
			guard.Int32(),
			guard.Int64(), // offset
		),
	),
	guard.Int32(), // timeout
)
