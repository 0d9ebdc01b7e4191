package describelogdirs

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(2,
	guard.Array[kmsg.DescribeLogDirsRequestTopic](
		guard.String(),
		guard.Array[int32](guard.Int32()),
	).Nullable(),
)
