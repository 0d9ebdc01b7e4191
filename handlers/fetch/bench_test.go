package fetch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/fetch"
)

// BenchmarkFetch reads some batches of 16 KiB from each of some partitions of
// an embedded store in memory.
func BenchmarkFetch(b *testing.B) {
	for name, c := range map[string]struct{ partitions, batches int32 }{
		"1 partition 16 KiB": {1, 1}, "1 partition 1 MiB": {1, 64}, "100 partitions 16 KiB": {100, 1}, "100 partitions empty": {100, 0},
	} {
		b.Run(name, func(b *testing.B) {
			s := embeddedtest.Open(b)
			topic, err := s.CreateTopic(b.Context(), backend.NewTopic{Name: "a", Partitions: c.partitions})
			require.NoError(b, err)
			var asks []ask
			for i := range c.partitions {
				asks = append(asks, ask{"a", i, 0, mib})
				for range c.batches {
					batch := recordtest.Values(string(make([]byte, 16<<10))).Batch(b)
					got := s.Append(b.Context(), []backend.Append{{Partition: backend.Partition{Topic: topic.ID, Index: i}, Batch: batch}})
					require.NoError(b, got[0].Err)
				}
			}
			h, req := fetch.New(s, limits), request(asks...)
			req.MaxBytes = 10 << 20
			b.SetBytes(int64(c.partitions) * int64(c.batches) * 16 << 10)
			b.ReportAllocs()
			for b.Loop() {
				_, err := h.Handle(context.Background(), handler.Call{}, req)
				require.NoError(b, err)
			}
		})
	}
}
