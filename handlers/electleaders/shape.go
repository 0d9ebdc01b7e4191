package electleaders

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(2,
	guard.Int8().Since(1), // election type
	guard.Array[kmsg.ElectLeadersRequestTopic](
		guard.String(),
		guard.Array[int32](guard.Int32()),
	).Nullable(),
	guard.Int32(), // timeout
)
