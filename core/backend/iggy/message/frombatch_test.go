package message_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

var roomy = message.Limits{MaxRecordBytes: math.MaxInt32, MaxBytes: math.MaxInt64}

var codecs = []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}

func fromBatch(t require.TestingT, b record.Batch) []message.Message {
	messages, err := message.FromBatch(context.Background(), nil, b, roomy)
	require.NoError(t, err)
	return messages
}

func parse(t require.TestingT, b recordtest.Batch) record.Batch {
	parsed, _, err := record.Parse(b.Bytes())
	require.NoError(t, err)
	return parsed
}

// batchOf is a batch of records; recordtest takes timestamp 0 for its own.
func batchOf(records []message.Record) recordtest.Batch {
	b := recordtest.New()
	for _, r := range records {
		one := recordtest.Record{Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, kmsg.Header{Key: string(h.Name), Value: h.Value})
		}
		b.Records = append(b.Records, one)
	}
	return b
}

func drawRecords(t *rapid.T) []message.Record {
	records := make([]message.Record, rapid.IntRange(1, 12).Draw(t, "records"))
	for i := range records {
		records[i] = drawRecord(t)
		if records[i].Timestamp == 0 {
			records[i].Timestamp = recordtest.Time
		}
	}
	return records
}

// FromBatch makes what Encode makes, whatever the codec.
func TestFromBatchEncodesEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		batch := batchOf(records).Compressed(rapid.SampledFrom(codecs).Draw(t, "codec"))
		if rapid.Bool().Draw(t, "idempotent") {
			batch = batch.From(rapid.Int64Min(0).Draw(t, "producer"), rapid.Int16Min(0).Draw(t, "epoch"), rapid.Int32Min(0).Draw(t, "sequence"))
		}
		parsed := parse(t, batch)
		before := bytes.Clone(parsed.Bytes)
		kept := message.Message{Payload: []byte("before")}
		messages, err := message.FromBatch(context.Background(), []message.Message{kept}, parsed, roomy)
		require.NoError(t, err)
		require.Equal(t, kept, messages[0])
		require.Len(t, messages[1:], len(records))
		for i, m := range messages[1:] {
			want, err := message.Encode(&records[i], m.Header.Id)
			require.NoError(t, err)
			require.Equal(t, want, m)
			producer, epoch, sequence, first, ok := message.ParseID(m.Header.Id)
			require.Equal(t, batch.ProducerID >= 0, ok)
			if ok {
				require.Equal(t, batch.ProducerID, producer)
				require.Equal(t, batch.ProducerEpoch, epoch)
				require.Equal(t, int32((int64(batch.BaseSequence)+int64(i))%(1<<31)), sequence)
				require.Equal(t, i == 0, first)
			}
		}
		require.Equal(t, before, parsed.Bytes)
	})
}

// Sequences go from 2^31−1 to 0.
func TestFromBatchSequenceWraps(t *testing.T) {
	t.Parallel()
	b := parse(t, recordtest.Values("a", "b", "c").From(7, 1, math.MaxInt32-1))
	var got []int32
	for _, m := range fromBatch(t, b) {
		_, _, sequence, _, ok := message.ParseID(m.Header.Id)
		require.True(t, ok)
		got = append(got, sequence)
	}
	require.Equal(t, []int32{math.MaxInt32 - 1, math.MaxInt32, 0}, got)
	require.Equal(t, b.LastSequence(), got[2])
}

func TestFromBatchLogAppendTime(t *testing.T) {
	t.Parallel()
	b := parse(t, recordtest.Values("a", "b"))
	b.SetLogAppendTime(1_750_000_000_000)
	for _, m := range fromBatch(t, b) {
		require.Equal(t, uint64(1_750_000_000_000_000), m.Header.OriginTimestamp)
	}
}

// Payloads alias the bytes of an uncompressed batch, and nothing of a compressed
// one is in memory that its decoder goes on to use.
func TestFromBatchOwnership(t *testing.T) {
	t.Parallel()
	values := []string{"one", strings.Repeat("two", 50_000), "three"}
	plain := parse(t, recordtest.Values(values...))
	messages := fromBatch(t, plain)
	for i, m := range messages {
		require.Equal(t, values[i], string(m.Payload))
		require.True(t, within(plain.Bytes, m.Payload))
		require.Equal(t, len(m.Payload), cap(m.Payload))
	}
	for _, codec := range codecs[1:] {
		b := parse(t, recordtest.Values(values...).Compressed(codec))
		messages := fromBatch(t, b)
		clear(b.Bytes)
		for range 3 { // whoever uses the pooled decoders next
			fromBatch(t, parse(t, recordtest.Values(strings.Repeat("x", 200_000), "y").Compressed(codec)))
		}
		for i, m := range messages {
			require.Equal(t, values[i], string(m.Payload), "%v", codec)
		}
	}
}

func within(whole, part []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	start := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return at >= start && at+uintptr(len(part)) <= start+uintptr(len(whole))
}

func TestFromBatchErrors(t *testing.T) {
	t.Parallel()
	kept := []message.Message{{Payload: []byte("before")}}
	check := func(b record.Batch, limits message.Limits, want error) {
		t.Helper()
		got, err := message.FromBatch(context.Background(), kept, b, limits)
		require.ErrorIs(t, err, want)
		require.Equal(t, kept, got)
	}
	for _, codec := range codecs {
		b := parse(t, recordtest.Values("hello", strings.Repeat("x", 100)).Compressed(codec))
		exact := int64(2*message.Overhead + 5 + 100 + 2*18)
		limits := roomy
		limits.MaxBytes = exact - 1
		check(b, limits, message.ErrTooLarge)
		limits.MaxBytes = exact
		_, err := message.FromBatch(context.Background(), nil, b, limits)
		require.NoError(t, err)
		if codec != record.None {
			limits.MaxRecordBytes = 50
			check(b, limits, record.ErrInvalid)
		}
	}
	broken, _, err := record.Parse(recordtest.Values("a").WithPayload([]byte{100}))
	require.NoError(t, err)
	check(broken, roomy, record.ErrInvalid)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = message.FromBatch(ctx, nil, parse(t, recordtest.Values("a").Compressed(record.LZ4)), roomy)
	require.ErrorIs(t, err, context.Canceled)

	large := parse(t, recordtest.New(recordtest.Record{Value: make([]byte, message.MaxPayload+1)}))
	check(large, roomy, message.ErrTooLarge)
}

// What swells, and a count that is not true, cost no more than the limits.
func TestFromBatchBombs(t *testing.T) {
	swelling := recordtest.New()
	for range 16 {
		swelling.Records = append(swelling.Records, recordtest.Record{Value: make([]byte, 1<<20)})
	}
	tiny := recordtest.Values(make([]string, 100_000)...)
	for name, c := range map[string]recordtest.Batch{
		"values": swelling.Compressed(record.Zstd), "records": tiny.Compressed(record.Zstd),
	} {
		b := parse(t, c)
		require.Less(t, len(b.Bytes), 1<<18, name)
		limits := roomy
		limits.MaxBytes = 4 << 20
		allocated, err := allocated(func() error {
			_, err := message.FromBatch(context.Background(), nil, b, limits)
			return err
		})
		require.ErrorIs(t, err, message.ErrTooLarge)
		require.Less(t, allocated, uint64(24<<20)+uint64(b.DecoderMemory()), name)
	}
	claims := parse(t, recordtest.Values("a"))
	claims.Count = math.MaxInt32
	allocated, err := allocated(func() error {
		_, err := message.FromBatch(context.Background(), nil, claims, roomy)
		return err
	})
	require.ErrorIs(t, err, record.ErrInvalid)
	require.Less(t, allocated, uint64(64<<10))
}

func allocated(f func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// FuzzFromBatch: what passes Check becomes as many messages, which Batcher turns
// back into the same records.
func FuzzFromBatch(f *testing.F) {
	for _, codec := range codecs {
		f.Add(recordtest.Values("hello", "world, hello world").Compressed(codec).Bytes())
	}
	f.Add(recordtest.New(recordtest.Record{Key: []byte{}, Headers: []kmsg.Header{{Key: "a"}, {Key: "a", Value: []byte("b")}}}).Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= record.HeaderSize {
			recordtest.Seal(raw)
		}
		b, _, err := record.Parse(raw)
		if err != nil {
			return
		}
		limits := message.Limits{MaxRecordBytes: 1 << 20, MaxBytes: 8 << 20}
		messages, err := message.FromBatch(context.Background(), nil, b, limits)
		if err != nil {
			require.True(t, errors.Is(err, record.ErrInvalid) || errors.Is(err, message.ErrTooLarge))
			return
		}
		require.Len(t, messages, int(max(b.Count, 0)))
		for i := range messages {
			messages[i].Header.Offset, messages[i].Header.Timestamp = uint64(i), serverTime
		}
		var batcher message.Batcher
		out, done := batcher.Append(nil, messages, message.Want{MaxBytes: math.MaxInt32})
		require.Equal(t, len(messages), done.Messages)
		require.Equal(t, len(messages), done.Records)
		want := recordsOf(t, recordtest.Seal(b.Bytes))
		for i := range want {
			if want[i].record.Timestamp == -1 {
				want[i].record.Timestamp = serverTime / 1000
			}
			want[i].offset = int64(i)
		}
		require.Equal(t, want, recordsOf(t, out))
	})
}
