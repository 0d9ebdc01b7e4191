package producerstate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	ps := &Table{}
	require.Empty(t, ps.Describe(0, day))
	ps.Add(batchOf(9, 0, 0), 5, day)
	ps.Add(batchOf(3, 0, 2), 6, day)
	ps.Add(batchOf(3, 2, 4), 7, day)
	require.Equal(t, []backend.ProducerState{
		{ID: 3, LastSequence: 3, LastTimestamp: 7}, {ID: 9, LastSequence: 1, LastTimestamp: 5},
	}, ps.Describe(8, day))
	require.Len(t, ps.Describe(6+day, day), 1, "one was idle too long")
}
