package fetch

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(12,
	guard.Int32().Until(14), // replica id
	guard.Int32(),           // max wait
	guard.Int32(),           // min bytes
	guard.Int32(),           // max bytes
	guard.Int8(),            // isolation level
	guard.Int32().Since(7),  // session id
	guard.Int32().Since(7),  // session epoch
	guard.Array[kmsg.FetchRequestTopic](
		guard.String().Until(12),
		guard.UUID().Since(13),
		guard.Array[kmsg.FetchRequestTopicPartition](
			guard.Int32(),
			guard.Int32().Since(9), // current leader epoch
			guard.Int64(),
			guard.Int32().Since(12), // last fetched epoch
			guard.Int64().Since(5),  // log start offset
			guard.Int32(),           // max bytes
		),
	),
	guard.Array[kmsg.FetchRequestForgottenTopic](
		guard.String().Until(12),
		guard.UUID().Since(13),
		guard.Array[int32](guard.Int32()),
	).Since(7),
	guard.String().Since(11), // rack
)
