package topicadmin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	. "github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// A topic is looked up once, whether it is there or not.
func TestFinder(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	made, err := s.Create("a", 2, nil)
	require.NoError(t, err)
	lookups := 0
	s.Before = func(string) error { lookups++; return nil }

	f := NewFinder(s)
	for range 2 {
		p, topic, err := f.Partition(t.Context(), "a", 1)
		require.NoError(t, err)
		require.Equal(t, backend.Partition{Topic: made.ID, Index: 1}, p)
		require.Equal(t, made, topic)
		for _, index := range []int32{-1, 2} {
			_, _, err = f.Partition(t.Context(), "a", index)
			require.ErrorIs(t, err, backend.ErrUnknownPartition)
		}
		_, _, err = f.Partition(t.Context(), "b", 0)
		require.ErrorIs(t, err, backend.ErrUnknownTopic)
	}
	require.Equal(t, 2, lookups)
}
