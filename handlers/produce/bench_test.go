package produce_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/handlers/produce"
)

// BenchmarkProduce decodes, checks and answers requests with one batch of 16
// records of 1 KiB for each of some partitions; the store keeps nothing.
func BenchmarkProduce(b *testing.B) {
	for name, c := range map[string]struct {
		partitions int32
		codec      record.Codec
	}{"1 partition": {1, record.None}, "16 partitions": {16, record.None}, "1 partition lz4": {1, record.LZ4}, "1 partition zstd": {1, record.Zstd}} {
		b.Run(name, func(b *testing.B) {
			batch := recordtest.New().Compressed(c.codec)
			for range 16 {
				batch.Records = append(batch.Records, recordtest.Record{Key: []byte("key"), Value: make([]byte, 1024)})
			}
			t := topic("plain")
			for i := range c.partitions {
				t.Partitions = append(t.Partitions, part(i, batch.Bytes()))
			}
			req := request(9, 1, t)
			body := req.AppendTo(nil)
			s := store()
			s.topics[0].Partitions = c.partitions
			h := produce.New(discard{s})
			b.SetBytes(int64(c.partitions) * 16 * 1024)
			b.ReportAllocs()
			for b.Loop() {
				decoded := kmsg.NewPtrProduceRequest()
				decoded.Version = 9
				require.NoError(b, decoded.ReadFrom(body))
				_, err := h.Handle(context.Background(), handler.Call{}, decoded)
				require.NoError(b, err)
			}
		})
	}
}
