package joingroup

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(6,
	guard.String(),                     // group
	guard.Int32(),                      // session timeout
	guard.Int32().Since(1),             // rebalance timeout
	guard.String(),                     // member id
	guard.String().Nullable().Since(5), // instance id
	guard.String(),                     // protocol type
	guard.Array[kmsg.JoinGroupRequestProtocol](
		guard.String(), // name
		guard.Bytes(),  // metadata
	),
	guard.String().Nullable().Since(8), // reason
)
