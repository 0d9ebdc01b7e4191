package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Open(t)
	ctx := t.Context()
	topic, err := s.CreateTopic(ctx, backend.NewTopic{Name: "a", Partitions: 2})
	require.NoError(t, err)
	p := backend.Partition{Topic: topic.ID, Index: 1}
	var want []byte
	for i := range 3 {
		b := recordtest.Values("x", "y").Batch(t)
		got := s.Append(ctx, []backend.Append{{Partition: p, Batch: b}})
		require.Equal(t, []backend.Appended{{BaseOffset: int64(2 * i), AppendTime: -1}}, got)
		want = append(want, b.Bytes...)
	}
	b, bounds, err := s.Read(ctx, backend.Read{Partition: p, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Equal(t, backend.Bounds{Start: 0, End: 6}, bounds)
	require.Equal(t, want, b)
	b, _, err = s.Read(ctx, backend.Read{Partition: p, Offset: 3, MaxBytes: 1, AtLeastOne: true})
	require.NoError(t, err)
	one, rest, err := record.Parse(b)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.EqualValues(t, 2, one.BaseOffset)
}
