package saslauthenticate

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(2,
	guard.Bytes(), // token
)
