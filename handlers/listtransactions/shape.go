package listtransactions

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(0,
	guard.Array[string](guard.String()), // state filters
	guard.Array[int64](guard.Int64()),   // producer id filters
	guard.Int64().Since(1),              // duration filter
	guard.String().Nullable().Since(2),  // transactional id pattern
)
