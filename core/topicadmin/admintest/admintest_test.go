package admintest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The store keeps the contract of backend.Topics as far as handlers see it.
func TestTopics(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), New(t)
	require.Equal(t, "none", s.String())
	made, err := s.CreateTopic(ctx, backend.NewTopic{Name: "a", Partitions: 2, Overrides: map[string]string{"retention.ms": "5"}})
	require.NoError(t, err)
	require.EqualValues(t, 5, made.Config.RetentionMs)
	require.Equal(t, "00000001-0000-0000-0000-000000000000", made.ID.String())
	_, err = s.CreateTopic(ctx, backend.NewTopic{Name: "a"})
	require.ErrorIs(t, err, backend.ErrTopicExists)

	found, err := s.TopicByID(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, made, found)
	require.ErrorIs(t, s.GrowTopic(ctx, made.ID, 2), backend.ErrPartitionCount)
	require.NoError(t, s.GrowTopic(ctx, made.ID, 3))
	require.NoError(t, s.AlterTopic(ctx, made.ID, func(present map[string]string) (map[string]string, error) {
		require.Equal(t, map[string]string{"retention.ms": "5"}, present)
		return map[string]string{"segment.ms": "6"}, nil
	}))
	require.Equal(t, "a partitions=3 segment.ms=\"6\"\n", s.String())

	require.NoError(t, s.DeleteTopic(ctx, made.ID))
	for _, err := range []error{
		s.DeleteTopic(ctx, made.ID), s.GrowTopic(ctx, made.ID, 9), s.AlterTopic(ctx, made.ID, nil),
	} {
		require.ErrorIs(t, err, backend.ErrUnknownTopic)
	}
	all, err := s.AllTopics(ctx)
	require.NoError(t, err)
	require.Empty(t, all)
}
