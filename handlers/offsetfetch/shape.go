package offsetfetch

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version: one group up to v7, a
// list of groups from v8 on. Null topics ask for all.
var shape = guard.Body(6,
	guard.String().Until(7), // group
	guard.Array[kmsg.OffsetFetchRequestTopic](
		guard.String(), // topic
		guard.Array[int32](guard.Int32()),
	).Until(7).NullableSince(2),
	guard.Array[kmsg.OffsetFetchRequestGroup](
		guard.String(),                     // group
		guard.String().Nullable().Since(9), // member id
		guard.Int32().Since(9),             // member epoch
		guard.Array[kmsg.OffsetFetchRequestGroupTopic](
			guard.String().Until(9), // topic
			guard.UUID().Since(10),  // topic id
			guard.Array[int32](guard.Int32()),
		).Nullable(),
	).Since(8),
	guard.Bool().Since(7), // require stable
)
