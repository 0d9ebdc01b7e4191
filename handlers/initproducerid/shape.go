package initproducerid

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(2,
	guard.String().Nullable(), // transactional id
	guard.Int32(),             // transaction timeout
	guard.Int64().Since(3),    // producer id
	guard.Int16().Since(3),    // producer epoch
)
