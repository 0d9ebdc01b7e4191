package iggy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// The first producer of a gateway whose internal stream is another one, or was lost,
// must not be taken for the first producer of the gateway before: its records would
// be answered as duplicates and not be stored.
func TestProducersOfTwoGateways(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	for i, stream := range []string{"one", "two"} {
		s := newPatientBox(t, server, time.Minute, func(c *Config) { c.InternalStream = stream }).store
		topic, err := s.Topic(t.Context(), "t")
		if i == 0 {
			topic, err = s.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
		}
		require.NoError(t, err)
		id, err := s.NewProducerID(t.Context())
		require.NoError(t, err)
		batch := recordtest.Values("a").From(id, 0, 0).Batch(t)
		got := s.Append(t.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID}, Batch: batch}})
		require.NoError(t, got[0].Err)
		require.False(t, got[0].Duplicate)
		require.EqualValues(t, i, got[0].BaseOffset)
	}
}

// Long names of groups make long keys: what a topic has left goes in several
// commits, as one would be above the limit of the internal log, now and ever.
func TestDeleteTopicOfLongGroups(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	topic := f.create("t", 600)
	group := strings.Repeat("\x00", 1<<15-1) // twice as long in a key
	all := make([]backend.Commit, topic.Partitions)
	for i := range all {
		all[i].Partition = backend.Partition{Topic: topic.ID, Index: int32(i)}
	}
	commit := func() {
		t.Helper()
		for half := range slices.Chunk(all, len(all)/2) {
			require.NoError(t, f.CommitOffsets(t.Context(), group, half))
		}
		require.Equal(t, len(all), f.ledger.keys(keyOffset))
	}
	require.ErrorIs(t, f.CommitOffsets(t.Context(), group, all), backend.ErrTooLarge)
	commit()
	require.NoError(t, f.DeleteOffsets(t.Context(), group))
	require.Zero(t, f.ledger.keys(keyOffset))
	commit()
	require.NoError(t, f.DeleteTopic(t.Context(), topic.ID))
	require.Zero(t, f.ledger.keys(keyOffset))
	f.create("t", 1)
}
