package describeproducers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// A producer is shown with the sequence number of its last record.
func TestStore(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Open(t)
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 1})
	require.NoError(t, err)
	for _, sequence := range []int32{0, 3} {
		batch := recordtest.Values("x", "y", "z").From(7, 2, sequence).Batch(t)
		appended := s.Append(t.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID}, Batch: batch}})
		require.NoError(t, appended[0].Err)
	}
	resp, err := New(s).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, request(0))
	require.NoError(t, err)
	producers := resp.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers
	require.Len(t, producers, 1)
	require.NotZero(t, producers[0].LastTimestamp)
	producers[0].LastTimestamp = 0
	require.Equal(t, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
		ProducerID: 7, ProducerEpoch: 2, LastSequence: 5, CoordinatorEpoch: -1, CurrentTxnStartOffset: -1,
	}, producers[0])
}
