package describeacls

import "github.com/iggykafka/gateway/core/guard"

// shape is the request body of every served version.
var shape = guard.Body(2, // flexible from v2 on
	guard.Int8(),              // type of resource
	guard.String().Nullable(), // its name
	guard.Int8(),              // type of pattern, since v1
	guard.String().Nullable(), // principal
	guard.String().Nullable(), // host
	guard.Int8(),              // operation
	guard.Int8(),              // permission
)
