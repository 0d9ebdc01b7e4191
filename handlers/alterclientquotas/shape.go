package alterclientquotas

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(1,
	guard.Array[kmsg.AlterClientQuotasRequestEntry](
		guard.Array[kmsg.AlterClientQuotasRequestEntryEntity](
			guard.String(),            // type
			guard.String().Nullable(), // name
		),
		guard.Array[kmsg.AlterClientQuotasRequestEntryOp](
			guard.String(),  // key
			guard.Float64(), // value
			guard.Bool(),    // remove
		),
	),
	guard.Bool(), // validate only
)
