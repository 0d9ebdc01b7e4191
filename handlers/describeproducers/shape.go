package describeproducers

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body.
var shape = guard.Body(0,
	guard.Array[kmsg.DescribeProducersRequestTopic](
		guard.String(),
		guard.Array[int32](guard.Int32()),
	),
)
