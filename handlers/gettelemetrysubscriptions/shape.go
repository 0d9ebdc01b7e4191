package gettelemetrysubscriptions

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body.
var shape = guard.Body(0,
	guard.UUID(), // client instance id
)
