package leavegroup

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(4,
	guard.String(),          // group
	guard.String().Until(2), // member id
	guard.Array[kmsg.LeaveGroupRequestMember](
		guard.String(),                     // member id
		guard.String().Nullable(),          // instance id
		guard.String().Nullable().Since(5), // reason
	).Since(3),
)
