package franz

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

// What kadm can ask of partitions, beside what the scenarios and TestRemoveGroups ask: their records are deleted, their sizes,
// epochs, producers and reassignments shown, and no leader has to be elected.
func TestAdmin(t *testing.T) {
	clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) {
		ctx, topic := t.Context(), clienttest.Unique(t, "admin")
		observer := clienttest.NewObserver(t, addr)
		admin := observer.Admin
		_, err := admin.CreateTopic(ctx, 2, 1, nil, topic)
		require.NoError(t, err)
		observer.AwaitPartitions(t, topic, 2)
		producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		require.NoError(t, err)
		defer producer.Close()
		for range 3 {
			require.NoError(t, producer.ProduceSync(ctx, kgo.StringRecord("value")).FirstErr())
		}
		both, absent := kadm.TopicsSet{topic: {0: {}, 1: {}}}, kadm.TopicsSet{topic + "-absent": {0: {}}}

		t.Run("DeleteRecords", func(t *testing.T) {
			offset := func(at int64) kadm.Offsets {
				return kadm.OffsetsList{{Topic: topic, Partition: 0, At: at}}.Offsets()
			}
			deleted, err := admin.DeleteRecords(ctx, offset(2))
			require.NoError(t, err)
			require.NoError(t, deleted[topic][0].Err)
			require.Equal(t, int64(2), deleted[topic][0].LowWatermark)
			deleted, err = admin.DeleteRecords(ctx, offset(9))
			require.NoError(t, err)
			require.ErrorIs(t, deleted[topic][0].Err, kerr.OffsetOutOfRange)
			starts, err := admin.ListStartOffsets(ctx, topic)
			require.NoError(t, err)
			require.Equal(t, int64(2), starts[topic][0].Offset)
		})

		t.Run("OffsetForLeaderEpoch", func(t *testing.T) {
			ends, err := admin.ListEndOffsets(ctx, topic)
			require.NoError(t, err)
			epoch := ends[topic][0].LeaderEpoch
			var request kadm.OffsetForLeaderEpochRequest
			request.Add(topic, 0, epoch)
			request.Add(topic, 1, epoch+7)
			got, err := admin.OffsetForLeaderEpoch(ctx, request)
			require.NoError(t, err)
			require.NoError(t, got[topic][0].Err)
			require.Equal(t, int64(3), got[topic][0].EndOffset)
			require.Equal(t, epoch, got[topic][0].LeaderEpoch)
			require.NoError(t, got[topic][1].Err)
			require.Equal(t, int64(-1), got[topic][1].EndOffset, "an epoch to come")
		})

		t.Run("DescribeLogDirs", func(t *testing.T) {
			dirs, err := admin.DescribeAllLogDirs(ctx, both)
			require.NoError(t, err)
			require.NoError(t, dirs[1].Error())
			full, ok := dirs[1].LookupPartition(topic, 0)
			require.True(t, ok)
			require.Positive(t, full.Size)
			_, ok = dirs[1].LookupPartition(topic, 1)
			require.True(t, ok)
		})

		t.Run("ElectLeaders", func(t *testing.T) {
			for _, how := range []kadm.ElectLeadersHow{kadm.ElectPreferredReplica, kadm.ElectLiveReplica} {
				elected, err := admin.ElectLeaders(ctx, how, both)
				require.NoError(t, err)
				require.ErrorIs(t, elected[topic][0].Err, kerr.ElectionNotNeeded)
				require.ErrorIs(t, elected[topic][1].Err, kerr.ElectionNotNeeded)
				elected, err = admin.ElectLeaders(ctx, how, absent)
				require.NoError(t, err)
				require.ErrorIs(t, elected[topic+"-absent"][0].Err, kerr.UnknownTopicOrPartition)
			}
		})

		t.Run("PartitionReassignments", func(t *testing.T) {
			var here, away kadm.AlterPartitionAssignmentsReq
			here.Assign(topic, 0, []int32{1})
			away.Assign(topic, 0, []int32{7})
			altered, err := admin.AlterPartitionAssignments(ctx, here)
			require.NoError(t, err)
			require.NoError(t, altered[topic][0].Err)
			altered, err = admin.AlterPartitionAssignments(ctx, away)
			require.NoError(t, err)
			require.ErrorIs(t, altered[topic][0].Err, kerr.InvalidReplicaAssignment)
			listed, err := admin.ListPartitionReassignments(ctx, both)
			require.NoError(t, err)
			require.Empty(t, listed)
		})

		t.Run("DescribeProducers", func(t *testing.T) {
			described, err := admin.DescribeProducers(ctx, both)
			require.NoError(t, err)
			require.NoError(t, described[topic].Partitions[0].Err)
			producers := described[topic].Partitions[0].ActiveProducers.Sorted()
			require.Len(t, producers, 1)
			require.Equal(t, int32(2), producers[0].LastSequence)
			require.Equal(t, int64(-1), producers[0].CurrentTxnStartOffset)
			require.Empty(t, described[topic].Partitions[1].ActiveProducers)
		})

		t.Run("Transactions", func(t *testing.T) {
			listed, err := admin.ListTransactions(ctx, nil, nil)
			require.NoError(t, err)
			require.Empty(t, listed)
			described, err := admin.DescribeTransactions(ctx, "absent")
			if _, isBroker := clienttest.Broker(); isBroker {
				require.ErrorIs(t, described["absent"].Err, kerr.TransactionalIDNotFound)
			} else { // nobody coordinates transactions
				require.ErrorIs(t, err, kerr.TransactionalIDAuthorizationFailed)
			}
		})

		t.Run("ListConfigResources", func(t *testing.T) {
			listed, err := admin.ListConfigResources(ctx, kadm.ConfigResourceTopic, kadm.ConfigResourceBroker, kadm.ConfigResourceGroupConfig)
			require.NoError(t, err)
			require.NoError(t, listed.Err)
			require.Contains(t, listed.Resources, kadm.ConfigResource{Name: topic, Type: kadm.ConfigResourceTopic})
			require.Contains(t, listed.Resources, kadm.ConfigResource{Name: "1", Type: kadm.ConfigResourceBroker})
		})
	})
}
