package findcoordinator

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(3,
	guard.String().Until(3),                      // key
	guard.Int8().Since(1),                        // type
	guard.Array[string](guard.String()).Since(4), // keys
)
