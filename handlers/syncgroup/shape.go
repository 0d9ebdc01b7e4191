package syncgroup

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(4,
	guard.String(),                     // group
	guard.Int32(),                      // generation
	guard.String(),                     // member id
	guard.String().Nullable().Since(3), // instance id
	guard.String().Nullable().Since(5), // protocol type
	guard.String().Nullable().Since(5), // protocol
	guard.Array[kmsg.SyncGroupRequestGroupAssignment](
		guard.String(), // member id
		guard.Bytes(),  // assignment
	),
)
