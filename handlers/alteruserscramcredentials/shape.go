package alteruserscramcredentials

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of the only version.
var shape = guard.Body(0,
	guard.Array[kmsg.AlterUserSCRAMCredentialsRequestDeletion](
		guard.String(), // name
		guard.Int8(),   // mechanism
	),
	guard.Array[kmsg.AlterUserSCRAMCredentialsRequestUpsertion](
		guard.String(), // name
		guard.Int8(),   // mechanism
		guard.Int32(),  // iterations
		guard.Bytes(),  // salt
		guard.Bytes(),  // salted password
	),
)
