package metadata

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(9,
	guard.Array[kmsg.MetadataRequestTopic](
		guard.UUID().Since(10),
		guard.String().NullableSince(10),
	).NullableSince(1),
	guard.Bool().Since(4),           // AllowAutoTopicCreation
	guard.Bool().Since(8).Until(10), // IncludeClusterAuthorizedOperations
	guard.Bool().Since(8),           // IncludeTopicAuthorizedOperations
)
