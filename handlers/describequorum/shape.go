package describequorum

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(0,
	guard.Array[kmsg.DescribeQuorumRequestTopic](
		guard.String(),
		guard.Array[kmsg.DescribeQuorumRequestTopicPartition](guard.Int32()),
	),
)
