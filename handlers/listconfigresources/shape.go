package listconfigresources

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version; at v0 it is empty.
var shape = guard.Body(0,
	guard.Array[int8](guard.Int8()).Since(1), // types of resources
)
