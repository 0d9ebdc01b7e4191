package heartbeat

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(4,
	guard.String(),                     // group
	guard.Int32(),                      // generation
	guard.String(),                     // member id
	guard.String().Nullable().Since(3), // instance id
)
