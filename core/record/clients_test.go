package record_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// What a client's own compressors write is read, at every level.
func TestReadsWhatClientsCompress(t *testing.T) {
	batch := sized(400, 500)
	plain := batch.Bytes()[record.HeaderSize:]
	for name, codec := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		for _, level := range []int{0, 1, 3, 4, 9} {
			t.Run(fmt.Sprint(name, " ", level), func(t *testing.T) {
				c, err := kgo.DefaultCompressor(codec.WithLevel(level))
				require.NoError(t, err)
				data, kind := c.Compress(new(bytes.Buffer), plain)
				require.Less(t, len(data), len(plain))
				b, _, err := record.Parse(batch.Compressed(record.Codec(kind)).WithPayload(data))
				require.NoError(t, err)
				_, err = record.Check(context.Background(), b, open)
				require.NoError(t, err)
			})
		}
	}
}

// Decoders are shared: what one batch left behind must not reach another.
func TestDecodersAreReused(t *testing.T) {
	good := recordtest.Values("hello", "world", string(make([]byte, 70_000)))
	var wg sync.WaitGroup
	for name, b := range codecs(good) {
		for range 2 {
			wg.Go(func() {
				raw := b.Bytes()
				data := raw[record.HeaderSize:]
				broken := [][]byte{data[:len(data)/2], bytes.Repeat([]byte{0x55}, 100), append(bytes.Clone(data[:len(data)/2]), data...)}
				for i := range 9 {
					bad, _, err := record.Parse(b.WithPayload(broken[i%len(broken)]))
					assert.NoError(t, err)
					_, err = record.Check(context.Background(), bad, open)
					assert.ErrorIs(t, err, record.ErrInvalid, name)
					batch, _, err := record.Parse(raw)
					assert.NoError(t, err)
					_, _, _, err = record.FindTime(batch, 0) // stops in the middle
					assert.NoError(t, err, name)
					_, err = record.Check(context.Background(), batch, open)
					assert.NoError(t, err, name)
				}
			})
		}
	}
	wg.Wait()
}
