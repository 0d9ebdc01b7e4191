package describeclientquotas

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(1,
	guard.Array[kmsg.DescribeClientQuotasRequestComponent](
		guard.String(),            // type of entity
		guard.Int8(),              // type of match
		guard.String().Nullable(), // name to match
	),
	guard.Bool(), // strict
)
