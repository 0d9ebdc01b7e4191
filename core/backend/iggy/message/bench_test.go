package message_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// text is size bytes that compress about as well as JSON does.
func text(r *rand.Rand, size int) []byte {
	words := []string{`{"id":`, `"name":"`, `"amount":`, `true,`, `null,`, `"},`, "2026-11-29", "0123456789", "customer", "order"}
	var v []byte
	for len(v) < size {
		v = append(v, words[r.IntN(len(words))]...)
		v = append(v, byte(r.IntN(256)))
	}
	return v[:size]
}

func sized(n, size int, key string) recordtest.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	b := recordtest.New()
	for range n {
		one := recordtest.Record{Value: text(r, size)}
		if key != "" {
			one.Key = []byte(key)
		}
		b.Records = append(b.Records, one)
	}
	return b
}

func BenchmarkFromBatch(b *testing.B) {
	for _, key := range []string{"", "customer-4711"} {
		for _, codec := range codecs {
			b.Run(fmt.Sprintf("1000x1KiB key=%t codec=%d", key != "", codec), func(b *testing.B) {
				batch := sized(1000, 1<<10, key).From(1, 0, 0).Compressed(codec).Batch(b)
				var dst []message.Message
				b.ReportAllocs()
				b.SetBytes(1000 << 10)
				for b.Loop() {
					var err error
					dst, err = message.FromBatch(context.Background(), dst[:0], batch, roomy)
					require.NoError(b, err)
				}
			})
		}
	}
}

func polled(b testing.TB, n, size int, key string) []message.Message {
	messages := fromBatch(b, sized(n, size, key).Batch(b))
	for i := range messages {
		messages[i].Header.Offset = uint64(i)
	}
	return messages
}

func BenchmarkBatcher(b *testing.B) {
	for _, key := range []string{"", "customer-4711"} {
		for _, codec := range codecs {
			b.Run(fmt.Sprintf("1000x1KiB key=%t codec=%d", key != "", codec), func(b *testing.B) {
				messages := polled(b, 1000, 1<<10, key)
				batcher := message.Batcher{Codec: codec}
				var out []byte
				b.ReportAllocs()
				b.SetBytes(1000 << 10)
				for b.Loop() {
					var done message.Batched
					out, done = batcher.Append(out[:0], messages, message.Want{MaxBytes: 4 << 20})
					require.Equal(b, 1000, done.Records)
				}
			})
		}
	}
}

// The hot paths allocate a few times per batch, not per record.
func TestAllocations(t *testing.T) {
	batch := sized(1000, 100, "key").Batch(t)
	messages := polled(t, 1000, 100, "key")
	var dst []message.Message
	require.Less(t, testing.AllocsPerRun(10, func() {
		dst, _ = message.FromBatch(context.Background(), dst[:0], batch, roomy)
	}), 20.0)
	// Under the race detector pools forget now and then.
	for codec, most := range map[record.Codec]float64{record.None: 2, record.Snappy: 50, record.Zstd: 100} {
		batcher := message.Batcher{Codec: codec}
		var out []byte
		require.Less(t, testing.AllocsPerRun(10, func() {
			out, _ = batcher.Append(out[:0], messages, message.Want{MaxBytes: 1 << 20})
		}), most)
	}
}
