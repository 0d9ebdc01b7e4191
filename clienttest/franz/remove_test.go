package franz

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

// What groups have committed can be deleted, by partition and as a whole, once
// their members have gone; while they are there, they keep what they subscribe to.
func TestRemoveGroups(t *testing.T) {
	clienttest.Each(t, func(t *testing.T, _ clienttest.Storage, addr string) {
		ctx := t.Context()
		admin, err := kadm.NewOptClient(kgo.SeedBrokers(addr))
		require.NoError(t, err)
		defer admin.Close()
		for _, topic := range []string{"remove-read", "remove-left"} {
			_, err = admin.CreateTopic(ctx, 2, 1, nil, topic)
			require.NoError(t, err)
		}
		const group = "remove-group"
		committed := func() (found []string) {
			offsets, err := admin.FetchOffsets(ctx, group)
			require.NoError(t, err)
			for _, o := range offsets.Sorted() {
				found = append(found, o.Topic)
			}
			return found
		}
		var commits kadm.Offsets
		commits.AddOffset("remove-read", 0, 5, -1)
		commits.AddOffset("remove-left", 0, 6, -1)
		commits.AddOffset("remove-left", 1, 7, -1)
		require.NoError(t, admin.CommitAllOffsets(ctx, group, commits))

		consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics("remove-read"), kgo.DisableAutoCommit())
		require.NoError(t, err)
		defer consumer.Close()
		live := func() bool {
			described, err := admin.DescribeGroups(ctx, group)
			return err == nil && described[group].State == "Stable"
		}
		require.Eventually(t, live, time.Minute, 50*time.Millisecond)
		_, err = admin.DeleteGroup(ctx, group)
		require.ErrorIs(t, err, kerr.NonEmptyGroup)
		deleted, err := admin.DeleteOffsets(ctx, group, kadm.TopicsSet{"remove-read": {0: {}}, "remove-left": {0: {}}})
		require.NoError(t, err)
		require.ErrorIs(t, deleted["remove-read"][0], kerr.GroupSubscribedToTopic)
		require.NoError(t, deleted["remove-left"][0])
		require.Equal(t, []string{"remove-left", "remove-read"}, committed())

		consumer.Close()
		deleted, err = admin.DeleteOffsets(ctx, group, kadm.TopicsSet{"remove-read": {0: {}, 1: {}}, "remove-none": {0: {}}})
		require.NoError(t, err)
		require.NoError(t, deleted["remove-read"][0])
		require.NoError(t, deleted["remove-read"][1])
		require.ErrorIs(t, deleted["remove-none"][0], kerr.UnknownTopicOrPartition)
		require.Equal(t, []string{"remove-left"}, committed())
		_, err = admin.DeleteGroup(ctx, group)
		require.NoError(t, err)
		require.Empty(t, committed())
		_, err = admin.DeleteGroup(ctx, group)
		require.ErrorIs(t, err, kerr.GroupIDNotFound)
		_, err = admin.DeleteOffsets(ctx, group, kadm.TopicsSet{"remove-left": {0: {}}})
		require.ErrorIs(t, err, kerr.GroupIDNotFound)
	})
}

// Transactions are listed and described as what they are: none.
func TestNoTransactions(t *testing.T) {
	addr := clienttest.Address(t)
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer admin.Close()
	listed, err := admin.ListTransactions(t.Context(), nil, []string{"Ongoing"})
	require.NoError(t, err)
	require.Empty(t, listed)
}
