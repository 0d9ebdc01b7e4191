package deletetopics

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(4,
	guard.Array[string](guard.String()).Until(5), // TopicNames
	guard.Array[kmsg.DeleteTopicsRequestTopic](
		guard.String().Nullable(),
		guard.UUID(),
	).Since(6),
	guard.Int32(), // TimeoutMillis
)
