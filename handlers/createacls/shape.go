package createacls

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(2, // flexible from v2 on
	guard.Array[kmsg.CreateACLsRequestCreation](
		guard.Int8(),   // type of resource
		guard.String(), // its name
		guard.Int8(),   // type of pattern, since v1
		guard.String(), // principal
		guard.String(), // host
		guard.Int8(),   // operation
		guard.Int8(),   // permission
	),
)
