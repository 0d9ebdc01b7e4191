package describetopicpartitions

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/guard"
)

var shape = guard.Body(0,
	guard.Array[kmsg.DescribeTopicPartitionsRequestTopic](guard.String()),
	guard.Int32(), // ResponsePartitionLimit
	guard.NullableStruct[kmsg.DescribeTopicPartitionsRequestCursor](
		guard.String(),
		guard.Int32(),
	),
)
