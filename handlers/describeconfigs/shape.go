package describeconfigs

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(4,
	guard.Array[kmsg.DescribeConfigsRequestResource](
		guard.Int8(), // ResourceType
		guard.String(),
		guard.Array[string](guard.String()).Nullable(), // ConfigNames
	),
	guard.Bool(),          // IncludeSynonyms
	guard.Bool().Since(3), // IncludeDocumentation
)
