package pushtelemetry

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body.
var shape = guard.Body(0,
	guard.UUID(),  // client instance id
	guard.Int32(), // subscription id
	guard.Bool(),  // terminating
	guard.Int8(),  // compression
	guard.Bytes(), // metrics
)
