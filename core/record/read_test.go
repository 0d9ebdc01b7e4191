package record_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// read returns copies of the records of a batch, in the form that tests build
// them from. Null stays apart from empty.
func read(b record.Batch, limit int32) ([]recordtest.Record, error) {
	var got []recordtest.Record
	err := b.Read(context.Background(), limit, func(r *record.Record) error {
		c := recordtest.Record{
			Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value), Timestamp: b.BaseTimestamp + r.TimestampDelta,
		}
		for h := r.Headers; h.Next(); {
			c.Headers = append(c.Headers, kmsg.Header{Key: string(h.Name), Value: bytes.Clone(h.Value)})
		}
		got = append(got, c)
		return nil
	})
	return got, err
}

func TestReadsEveryField(t *testing.T) {
	batch := recordtest.New(
		recordtest.Record{Timestamp: 1000},
		recordtest.Record{Key: []byte{}, Value: []byte{}, Timestamp: 3000},
		recordtest.Record{Key: []byte("k"), Value: bytes.Repeat([]byte("long "), 50_000), Timestamp: 500, Headers: []kmsg.Header{
			{Key: "twice", Value: []byte("1")}, {Key: "twice"}, {Key: "", Value: []byte{}}, {Key: "long", Value: make([]byte, 70_000)},
		}},
		recordtest.Record{Value: []byte("after the long one"), Timestamp: 500},
	)
	for name, b := range codecs(batch) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(b.Batch(t), math.MaxInt32)
			require.NoError(t, err)
			require.Equal(t, batch.Records, got)
		})
	}
}

func TestReadAliasesUncompressed(t *testing.T) {
	t.Parallel()
	b := recordtest.Values("hello").Batch(t)
	require.NoError(t, b.Read(context.Background(), 0, func(r *record.Record) error {
		r.Value[0] = 'j'
		require.Equal(t, len(r.Value), cap(r.Value), "an append does not reach what follows")
		return nil
	}))
	require.Contains(t, string(b.Bytes), "jello")
}

func TestReadStops(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	for name, b := range codecs(recordtest.Values("a", "b", "c")) {
		n := 0
		err := b.Batch(t).Read(context.Background(), math.MaxInt32, func(*record.Record) error {
			n++
			return stop
		})
		require.ErrorIs(t, err, stop, name)
		require.Equal(t, 1, n, name)
	}
}

func TestReadLimit(t *testing.T) {
	t.Parallel()
	// 70 bytes of value and 7 around it, the length not counted.
	for name, b := range codecs(recordtest.Values(strings.Repeat("x", 70))) {
		_, err := read(b.Batch(t), 77)
		require.NoError(t, err, name)
		_, err = read(b.Batch(t), 76)
		if b.Codec == record.None {
			require.NoError(t, err, "the batch bounds its records")
			continue
		}
		require.ErrorIs(t, err, record.ErrInvalid, name)
	}
}

func TestReadContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := recordtest.Values("a").Compressed(record.Zstd).Batch(t).Read(ctx, 100, func(*record.Record) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}

// Read and Check agree about what a record is, whatever was done to the bytes.
func TestReadAgreesWithCheckOnDamage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		batch, _ := drawn(t)
		raw := batch.Bytes()
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(record.HeaderSize, len(raw)-1).Draw(t, "at")
			raw[at] = rapid.Byte().Draw(t, "byte")
		}
		b, _, err := record.Parse(recordtest.Seal(raw))
		require.NoError(t, err)
		_, checked := record.Check(context.Background(), b, open)
		records, err := read(b, math.MaxInt32)
		if checked == nil {
			require.NoError(t, err)
			require.Len(t, records, int(b.Count))
		}
		if err != nil {
			require.ErrorIs(t, err, record.ErrInvalid)
			require.Error(t, checked)
		}
	})
}

// A record that promises much costs no more than what is there.
func TestReadBombs(t *testing.T) {
	promise := []byte{0xfe, 0xff, 0xff, 0xff, 0x0f} // 2 GiB − 1
	for name, codec := range map[string]record.Codec{"gzip": record.Gzip, "lz4": record.LZ4, "zstd": record.Zstd, "snappy": record.Snappy} {
		raw := recordtest.Values("").Compressed(codec).WithPayload(recordtest.Compress(codec, promise))
		b, _, err := record.Parse(raw)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = read(b, math.MaxInt32)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, record.ErrInvalid, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(b.DecoderMemory())+256<<10, name)
	}
}

// Many headers take no memory beside their own bytes.
func TestReadManyHeaders(t *testing.T) {
	one := recordtest.Record{Headers: make([]kmsg.Header, 100_000)}
	b := recordtest.New(one).Batch(t)
	n := 0
	allocs := testing.AllocsPerRun(1, func() {
		n = 0
		require.NoError(t, b.Read(context.Background(), 0, func(r *record.Record) error {
			require.Equal(t, 100_000, r.Headers.Len())
			for h := r.Headers; h.Next(); {
				n++
			}
			return nil
		}))
	})
	require.Equal(t, 100_000, n)
	require.Less(t, allocs, 20.0)
}

func BenchmarkRead(b *testing.B) {
	for name, batch := range codecs(sized(1000, 1<<10)) {
		b.Run(name, func(b *testing.B) {
			parsed := batch.Batch(b)
			b.ReportAllocs()
			b.SetBytes(1000 << 10)
			for b.Loop() {
				n := 0
				err := parsed.Read(context.Background(), math.MaxInt32, func(r *record.Record) error {
					n += len(r.Value)
					return nil
				})
				require.NoError(b, err)
				require.Equal(b, 1000<<10, n)
			}
		})
	}
}
