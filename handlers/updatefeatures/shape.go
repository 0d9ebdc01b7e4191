package updatefeatures

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

// shape is the request body of every served version.
var shape = guard.Body(0,
	guard.Int32(), // timeout
	guard.Array[kmsg.UpdateFeaturesRequestFeatureUpdate](
		guard.String(),        // feature
		guard.Int16(),         // version level
		guard.Bool().Until(0), // downgrade allowed
		guard.Int8().Since(1), // type of upgrade
	),
	guard.Bool().Since(1), // validate only
)
