package record_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// built is the batch that a Builder makes of records that a test describes.
func built(b *record.Builder, batch recordtest.Batch, dst []byte) []byte {
	start := record.Start{BaseOffset: batch.BaseOffset, Codec: batch.Codec}
	for i, r := range batch.Records {
		if i == 0 {
			start.BaseTimestamp = r.Timestamp
			b.Begin(dst, start)
		}
		one := record.Record{
			OffsetDelta: int32(i), TimestampDelta: r.Timestamp - start.BaseTimestamp, Key: r.Key, Value: r.Value,
		}
		for _, h := range r.Headers {
			one.Headers.Append([]byte(h.Key), h.Value)
		}
		before := b.Size()
		b.Add(&one)
		if b.Size() != before+record.RecordSize(&one) {
			panic("RecordSize is not what Add adds")
		}
	}
	return b.Finish(-1)
}

// An independent encoder makes the same bytes.
func TestBuildsWhatKmsgWrites(t *testing.T) {
	t.Parallel()
	var b record.Builder
	rapid.Check(t, func(t *rapid.T) {
		batch, _ := drawn(t)
		batch.ProducerID, batch.ProducerEpoch, batch.BaseSequence = -1, -1, -1
		batch.BaseOffset = rapid.Int64Range(0, 1<<60).Draw(t, "base offset")
		codec := batch.Codec
		batch.Codec = record.None
		want, _, err := record.Parse(batch.Bytes())
		require.NoError(t, err)
		want.SetLeaderEpoch(0)
		got := built(&b, batch, []byte("before"))
		require.Equal(t, "before", string(got[:6]))
		require.Equal(t, want.Bytes, got[6:])

		batch.Codec = codec
		compressed, rest, err := record.Parse(built(&b, batch, nil))
		require.NoError(t, err)
		require.Empty(t, rest)
		require.LessOrEqual(t, len(compressed.Bytes), len(want.Bytes))
		records, err := read(compressed, math.MaxInt32)
		require.NoError(t, err)
		wanted, err := read(want, math.MaxInt32)
		require.NoError(t, err)
		require.Equal(t, wanted, records)
	})
}

// Sizes of numbers at the edges of their encoding.
func TestRecordSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := record.Record{
			OffsetDelta: rapid.Int32Min(0).Draw(t, "offset"), TimestampDelta: rapid.Int64().Draw(t, "timestamp"),
			Value: make([]byte, rapid.IntRange(0, 20_000).Draw(t, "value")),
		}
		var b record.Builder
		b.Begin(nil, record.Start{})
		b.Add(&r)
		require.Equal(t, record.HeaderSize+record.RecordSize(&r), b.Size())
		parsed, _, err := record.Parse(b.Finish(-1))
		require.NoError(t, err)
		require.NoError(t, parsed.Read(context.Background(), 0, func(got *record.Record) error {
			require.Equal(t, r.OffsetDelta, got.OffsetDelta)
			require.Equal(t, r.TimestampDelta, got.TimestampDelta)
			return nil
		}))
	})
}

// What compresses is compressed in the forms that a client reads, and what does
// not stays as it is.
func TestClientsReadWhatIsBuilt(t *testing.T) {
	t.Parallel()
	batch := sized(400, 500)
	random := recordtest.Values(string(bytes.Repeat([]byte{1}, 1)), "\x9e\x01\xf7")
	for name, codec := range map[string]record.Codec{
		"none": record.None, "gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch, random := batch, random
			var b record.Builder
			for range 3 { // encoders are used again
				batch.Codec, random.Codec = codec, codec
				out := built(&b, batch, nil)
				plain := batch.Compressed(record.None)
				if codec != record.None {
					require.Less(t, len(out), len(plain.Bytes()))
				}
				at := len(out)
				random.BaseOffset = 400
				out = built(&b, random, out)
				small, _, err := record.Parse(out[at:])
				require.NoError(t, err)
				require.Equal(t, record.None, small.Codec())

				records, next := consume(t, out, 0)
				require.Equal(t, int64(402), next)
				require.Len(t, records, 402)
				for i, r := range records {
					require.Equal(t, int64(i), r.Offset)
					if i < 400 {
						require.Equal(t, batch.Records[i].Value, r.Value)
						require.Equal(t, batch.Records[i].Key, r.Key)
					}
				}
			}
		})
	}
}

// consume reads batches as franz-go does, and returns the offset that it would
// fetch next.
func consume(t require.TestingT, batches []byte, from int64) ([]*kgo.Record, int64) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches, p.HighWatermark = batches, math.MaxInt64
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from}, &p, kgo.DefaultDecompressor(), nil)
	require.NoError(t, got.Err)
	return got.Records, next
}

func TestBuilderAttributes(t *testing.T) {
	t.Parallel()
	var b record.Builder
	b.Begin(nil, record.Start{BaseOffset: 7, BaseTimestamp: 50, LogAppendTime: true})
	b.Add(&record.Record{OffsetDelta: 2})
	b.Add(&record.Record{OffsetDelta: 5})
	got, rest, err := record.Parse(b.Finish(9))
	require.NoError(t, err)
	require.Empty(t, rest)
	require.True(t, got.ValidCRC())
	require.True(t, got.LogAppendTime())
	require.False(t, got.Control() || got.Transactional())
	got.Bytes, got.CRC = nil, 0
	require.Equal(t, record.Batch{
		BaseOffset: 7, Attributes: 8, LastOffsetDelta: 9, BaseTimestamp: 50, MaxTimestamp: 50,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Count: 2,
	}, got)

	b.Begin(nil, record.Start{Codec: 6})
	b.Add(&record.Record{Value: []byte("a codec that there is none of")})
	got, _, err = record.Parse(b.Finish(-1))
	require.NoError(t, err)
	require.Equal(t, record.None, got.Codec())
	_, err = record.Check(context.Background(), got, open)
	require.NoError(t, err)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	var h record.Headers
	require.Zero(t, h.Len())
	require.False(t, h.Next())
	h.Append([]byte("a"), nil)
	h.Append(nil, []byte{})
	require.Equal(t, 2, h.Len())
	require.Equal(t, 5, h.Bytes())
	rest := h
	require.True(t, rest.Next())
	require.Equal(t, "a", string(rest.Name))
	require.Nil(t, rest.Value)
	require.True(t, rest.Next())
	require.NotNil(t, rest.Name)
	require.NotNil(t, rest.Value)
	require.False(t, rest.Next())
	require.Equal(t, 2, h.Len(), "reading a copy leaves the headers")
	h.Reset()
	require.Zero(t, h.Len())
}

func BenchmarkBuild(b *testing.B) {
	batch := sized(1000, 1<<10)
	records := make([]record.Record, len(batch.Records))
	for i, r := range batch.Records {
		records[i] = record.Record{OffsetDelta: int32(i), Key: r.Key, Value: r.Value}
	}
	for name, codec := range map[string]record.Codec{
		"none": record.None, "gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd,
	} {
		b.Run(name, func(b *testing.B) {
			var builder record.Builder
			var out []byte
			b.ReportAllocs()
			b.SetBytes(1000 << 10)
			for b.Loop() {
				builder.Begin(out[:0], record.Start{Codec: codec})
				for i := range records {
					builder.Add(&records[i])
				}
				out = builder.Finish(-1)
			}
			b.ReportMetric(float64(1000<<10)/float64(len(out)), "ratio")
		})
	}
}
