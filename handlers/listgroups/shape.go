package listgroups

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version; up to v2 it is empty.
var shape = guard.Body(3,
	guard.Array[string](guard.String()).Since(4), // states filter
	guard.Array[string](guard.String()).Since(5), // types filter
)
