package describegroups

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(5,
	guard.Array[string](guard.String()), // group ids
	guard.Bool().Since(3),               // include authorized operations
)
