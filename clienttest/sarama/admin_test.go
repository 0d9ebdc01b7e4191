package sarama

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

// What Sarama's cluster admin can ask, beside what the scenarios ask.
func TestAdmin(t *testing.T) {
	clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) {
		topic, group := clienttest.Unique(t, "admin"), clienttest.Unique(t, "group")
		config := sarama.NewConfig()
		config.Version = sarama.MaxVersion
		config.Producer.Return.Successes = true
		config.Producer.Partitioner = sarama.NewManualPartitioner
		config.Admin.Retry.Max = 0
		admin, err := sarama.NewClusterAdmin([]string{addr}, config)
		require.NoError(t, err)
		defer func() { require.NoError(t, admin.Close()) }()
		require.NoError(t, admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false))
		observer := clienttest.NewObserver(t, addr)
		observer.AwaitPartitions(t, topic, 2)
		producer, err := sarama.NewSyncProducer([]string{addr}, config)
		require.NoError(t, err)
		defer func() { require.NoError(t, producer.Close()) }()
		for range 3 {
			_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("value")})
			require.NoError(t, err)
		}

		t.Run("DeleteRecords", func(t *testing.T) {
			require.NoError(t, admin.DeleteRecords(topic, map[int32]int64{0: 2}))
			starts, err := observer.Admin.ListStartOffsets(t.Context(), topic)
			require.NoError(t, err)
			require.Equal(t, int64(2), starts[topic][0].Offset)
			require.ErrorIs(t, admin.DeleteRecords(topic, map[int32]int64{0: 9}), sarama.ErrOffsetOutOfRange)
		})

		t.Run("DescribeLogDirs", func(t *testing.T) {
			dirs, err := admin.DescribeLogDirs([]int32{1})
			require.NoError(t, err)
			require.Len(t, dirs[1], 1)
			require.Equal(t, sarama.ErrNoError, dirs[1][0].ErrorCode)
			sizes := map[int32]int64{}
			for _, described := range dirs[1][0].Topics {
				for _, partition := range described.Partitions {
					if described.Topic == topic {
						sizes[partition.PartitionID] = partition.Size
					}
				}
			}
			require.Len(t, sizes, 2)
			require.Positive(t, sizes[0])
		})

		t.Run("ElectLeaders", func(t *testing.T) {
			elected, err := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{topic: {0, 1}})
			require.NoError(t, err)
			for _, partition := range []int32{0, 1} {
				require.Equal(t, sarama.ErrElectionNotNeeded, elected[topic][partition].ErrorCode)
			}
		})

		t.Run("PartitionReassignments", func(t *testing.T) {
			require.NoError(t, admin.AlterPartitionReassignments(topic, [][]int32{{1}, {1}}))
			require.Error(t, admin.AlterPartitionReassignments(topic, [][]int32{{7}, {1}}), "there is no broker 7")
			listed, err := admin.ListPartitionReassignments(topic, []int32{0, 1})
			require.NoError(t, err)
			require.Empty(t, listed)
		})

		t.Run("DeleteGroups", func(t *testing.T) {
			position := map[string]map[int32]sarama.OffsetAndMetadata{topic: {0: {Offset: 3, LeaderEpoch: -1}, 1: {Offset: 0, LeaderEpoch: -1}}}
			committed, err := admin.AlterConsumerGroupOffsets(group, position, nil)
			require.NoError(t, err)
			require.Equal(t, sarama.ErrNoError, committed.Errors[topic][0])
			require.NoError(t, admin.DeleteConsumerGroupOffset(group, topic, 1))
			left, err := admin.ListConsumerGroupOffsets(group, nil)
			require.NoError(t, err)
			require.Equal(t, int64(3), left.GetBlock(topic, 0).Offset)
			require.Nil(t, left.GetBlock(topic, 1))
			require.NoError(t, admin.DeleteConsumerGroup(group))
			require.ErrorIs(t, admin.DeleteConsumerGroup(group), sarama.ErrGroupIDNotFound)
		})
	})
}
