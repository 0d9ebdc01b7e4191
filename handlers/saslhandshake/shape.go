package saslhandshake

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version. The key has no flexible one,
// so that the oldest clients can read it.
var shape = guard.Body(guard.NeverFlexible,
	guard.String(), // mechanism
)
