package describelogdirs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// The sizes are those of the batches that were stored, as they came.
func TestStore(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Open(t)
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 2})
	require.NoError(t, err)
	batch := recordtest.Values("x", "y", "z")
	appended := s.Append(t.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID, Index: 1}, Batch: batch.Batch(t)}})
	require.NoError(t, appended[0].Err)

	resp, err := New(s).Handle(t.Context(), handler.Call{MaxFrame: 1 << 20}, all(5))
	require.NoError(t, err)
	dirs := resp.(*kmsg.DescribeLogDirsResponse).Dirs
	require.Len(t, dirs, 1)
	require.Zero(t, dirs[0].ErrorCode)
	require.NotEmpty(t, dirs[0].Dir)
	require.Equal(t, []kmsg.DescribeLogDirsResponseDirTopic{{Topic: "a", Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{
		{Partition: 0}, {Partition: 1, Size: int64(len(batch.Bytes()))},
	}}}, dirs[0].Topics)
}
