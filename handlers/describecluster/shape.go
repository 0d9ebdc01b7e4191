package describecluster

import "github.com/iggykafka/gateway/core/guard"

var shape = guard.Body(0,
	guard.Bool(),          // IncludeClusterAuthorizedOperations
	guard.Int8().Since(1), // EndpointType
	guard.Bool().Since(2), // IncludeFencedBrokers
)
