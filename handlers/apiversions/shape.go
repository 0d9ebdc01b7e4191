package apiversions

import "github.com/iggykafka/gateway/core/guard"

// shape describes the request body; before version 3 it is empty.
var shape = guard.Body(3,
	guard.String().Since(3),            // ClientSoftwareName
	guard.String().Since(3),            // ClientSoftwareVersion
	guard.String().Since(5).Nullable(), // ClusterID
	guard.Int32().Since(5),             // NodeID
)
