package describeuserscramcredentials

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of the only version.
var shape = guard.Body(0,
	guard.Array[kmsg.DescribeUserSCRAMCredentialsRequestUser](
		guard.String(), // name
	).Nullable(),
)
