package deleterecords

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// What is deleted is gone for readers, also in the middle of a batch.
func TestStore(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Open(t)
	topic, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: "a", Partitions: 2})
	require.NoError(t, err)
	p := backend.Partition{Topic: topic.ID}
	for range 2 {
		appended := s.Append(t.Context(), []backend.Append{{Partition: p, Batch: recordtest.Values("x", "y", "z").Batch(t)}})
		require.NoError(t, appended[0].Err)
	}
	h := New(s)
	for _, c := range []struct{ offset, start int64 }{{0, 0}, {4, 4}, {2, 4}, {-1, 6}} {
		resp, err := h.Handle(t.Context(), handler.Call{}, request(c.offset, "a"))
		require.NoError(t, err)
		require.Equal(t, answer{c.start, 0}, only(t, resp))
		bounds, err := s.Bounds(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, backend.Bounds{Start: c.start, End: 6}, bounds)
		_, _, err = s.Read(t.Context(), backend.Read{Partition: p, Offset: c.start - 1, MaxBytes: 1})
		require.ErrorIs(t, err, backend.ErrOffsetOutOfRange)
	}
	for _, offset := range []int64{7, -2} {
		resp, err := h.Handle(t.Context(), handler.Call{}, request(offset, "a"))
		require.NoError(t, err)
		require.Equal(t, answer{-1, 1}, only(t, resp))
	}
}

// answer is the low watermark and code of a partition.
type answer struct {
	start int64
	code  int16
}

// only returns the only answer of a response.
func only(t *testing.T, resp kmsg.Response) answer {
	topics := resp.(*kmsg.DeleteRecordsResponse).Topics
	require.Len(t, topics, 1)
	require.Len(t, topics[0].Partitions, 1)
	return answer{topics[0].Partitions[0].LowWatermark, topics[0].Partitions[0].ErrorCode}
}
