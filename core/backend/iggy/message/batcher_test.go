package message_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

// logged is a record with its offset.
type logged struct {
	offset int64
	record message.Record
}

// recordsOf reads batches one after another, and makes sure that each is sound.
func recordsOf(t require.TestingT, batches []byte) []logged {
	var got []logged
	for len(batches) > 0 {
		b, rest, err := record.Parse(batches)
		require.NoError(t, err)
		require.True(t, b.ValidCRC())
		largest, n := int64(math.MinInt64), 0
		require.NoError(t, b.Read(context.Background(), math.MaxInt32, func(r *record.Record) error {
			one := logged{b.BaseOffset + int64(r.OffsetDelta), message.Record{
				Timestamp: b.BaseTimestamp + r.TimestampDelta, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value),
			}}
			if b.LogAppendTime() {
				one.record.Timestamp = b.MaxTimestamp
			}
			for h := r.Headers; h.Next(); {
				one.record.Headers = append(one.record.Headers, message.Header{Name: bytes.Clone(h.Name), Value: bytes.Clone(h.Value)})
			}
			largest = max(largest, one.record.Timestamp)
			got, n = append(got, one), n+1
			return nil
		}))
		require.Equal(t, int(b.Count), n)
		batches = rest
	}
	return got
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

// native is a message of an Iggy client.
func native(offset int64, payload string, serverMS int64) message.Message {
	m := message.Message{Payload: []byte(payload)}
	m.Header.Offset, m.Header.Timestamp = uint64(offset), uint64(serverMS)*1000
	m.Header.OriginTimestamp = m.Header.Timestamp - 5_000_000
	return m
}

// unreadable is a message of a layout that there is none of.
func unreadable(offset int64) message.Message {
	m := native(offset, "?", 1)
	m.UserHeaders = iggcon.GetHeadersBytes([]iggcon.HeaderEntry{{
		Key: iggcon.HeaderKey{Kind: iggcon.String, Value: []byte("kafka.v")}, Value: iggcon.HeaderValue{Kind: iggcon.Raw, Value: []byte{99}},
	}})
	return m
}

// drawLog draws messages with offsets that ascend, and what is to be read from
// them.
func drawLog(t *rapid.T) (messages []message.Message, want []logged, skipped []int64) {
	offset, appended := rapid.Int64Range(0, 5).Draw(t, "start"), int64(1_800_000_000_000)
	for range rapid.IntRange(0, 25).Draw(t, "messages") {
		offset += rapid.SampledFrom([]int64{0, 0, 0, 0, 3, math.MaxInt32}).Draw(t, "gap")
		appended += rapid.SampledFrom([]int64{0, 0, 7}).Draw(t, "time")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			messages, skipped = append(messages, unreadable(offset)), append(skipped, offset)
		case 1:
			m := native(offset, "native", appended)
			messages = append(messages, m)
			want = append(want, logged{offset, message.Record{Timestamp: appended - 5000, Value: m.Payload}})
		default:
			r := drawRecord(t)
			m, err := message.Encode(&r, message.RandomID())
			require.NoError(t, err)
			m.Header.Offset, m.Header.Timestamp = uint64(offset), uint64(appended)*1000
			if r.Timestamp == -1 {
				r.Timestamp = appended
			}
			messages, want = append(messages, m), append(want, logged{offset, r})
		}
		offset++
	}
	return messages, want, skipped
}

// Whatever the limits, rounds of Append give all records, in order, once, with
// their offsets, and never more bytes than asked for.
func TestBatcherGivesEveryRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages, want, skipped := drawLog(t)
		var told []int64
		b := message.Batcher{
			BatchBytes: rapid.SampledFrom([]int{0, 100, 300}).Draw(t, "batch bytes"),
			Codec:      rapid.SampledFrom(codecs).Draw(t, "codec"),
			Unreadable: func(offset int64, err error) {
				require.ErrorIs(t, err, message.ErrUnreadable)
				told = append(told, offset)
			},
		}
		var all []byte
		w := message.Want{AtLeastOne: true, MaxBytes: rapid.SampledFrom([]int{-1, 0, 150, 500, 5000, math.MaxInt32}).Draw(t, "max bytes")}
		left := messages
		for len(left) > 0 {
			prefix := []byte("kept")
			out, done := b.Append(prefix, left, w)
			require.Equal(t, "kept", string(out[:4]))
			require.Equal(t, len(out)-4, done.Bytes)
			require.Positive(t, done.Messages)
			require.True(t, done.Bytes <= max(w.MaxBytes, 0) || done.Records == 1, "%d bytes of %d", done.Bytes, w.MaxBytes)
			require.Equal(t, int64(left[done.Messages-1].Header.Offset)+1, done.Next)
			if done.Bytes > 0 {
				first, _, err := record.Parse(out[4:])
				require.NoError(t, err)
				if w.From+math.MaxInt32 > int64(left[done.Messages-1].Header.Offset) {
					require.Equal(t, w.From, first.BaseOffset)
				}
				_, next := consume(t, out[4:], w.From)
				if done.Next-w.From < math.MaxInt32 {
					require.Equal(t, done.Next, next, "a consumer goes on behind what was used up")
				}
			}
			all, left, w.From = append(all, out[4:]...), left[done.Messages:], done.Next
		}
		require.Equal(t, want, recordsOf(t, all))
		require.Equal(t, skipped, told)
		if len(all) > 0 {
			got, _ := consume(t, all, 0)
			require.Len(t, got, len(want))
			for i, r := range got {
				require.Equal(t, want[i].offset, r.Offset)
				require.Equal(t, want[i].record.Value, r.Value)
			}
		}
	})
}

// Without AtLeastOne the limit holds always.
func TestBatcherLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages, _, _ := drawLog(t)
		b := message.Batcher{Codec: rapid.SampledFrom(codecs).Draw(t, "codec")}
		w := message.Want{MaxBytes: rapid.IntRange(0, 3000).Draw(t, "max bytes")}
		out, done := b.Append(nil, messages, w)
		require.LessOrEqual(t, len(out), w.MaxBytes)
		require.Len(t, recordsOf(t, out), done.Records)
	})
}

// The limit is used: what comes next would not have fit.
func TestBatcherFillsTheLimit(t *testing.T) {
	t.Parallel()
	var messages []message.Message
	for i := range int64(10) {
		messages = append(messages, native(i, "ten bytes.", 1_800_000_000_000))
	}
	var b message.Batcher
	whole, done := b.Append(nil, messages, message.Want{MaxBytes: math.MaxInt32})
	require.Equal(t, 10, done.Records)
	out, done := b.Append(nil, messages, message.Want{MaxBytes: len(whole)})
	require.Equal(t, whole, out)
	require.Equal(t, 10, done.Records)
	out, done = b.Append(nil, messages, message.Want{MaxBytes: len(whole) - 1})
	require.Equal(t, message.Batched{Messages: 9, Next: 9, Records: 9, Bytes: len(out)}, done)
	out, done = b.Append(nil, messages, message.Want{MaxBytes: 60})
	require.Empty(t, out)
	require.Equal(t, message.Batched{}, done)
}

func TestBatcherPassesOverWhatIsBelow(t *testing.T) {
	t.Parallel()
	messages := []message.Message{native(3, "a", 1), native(4, "b", 1), native(5, "c", 1)}
	var b message.Batcher
	out, done := b.Append(nil, messages, message.Want{From: 5, MaxBytes: 1000})
	require.Equal(t, message.Batched{Messages: 3, Next: 6, Records: 1, Bytes: len(out)}, done)
	got := recordsOf(t, out)
	require.Equal(t, int64(5), got[0].offset)
	require.Equal(t, "c", string(got[0].record.Value))
}

// Gaps in front of, between and behind the records are covered.
func TestBatcherGaps(t *testing.T) {
	t.Parallel()
	messages := []message.Message{unreadable(1), native(3, "a", 1), unreadable(4), native(9, "b", 1), unreadable(10), unreadable(11)}
	var b message.Batcher
	out, done := b.Append(nil, messages, message.Want{MaxBytes: 1000})
	require.Equal(t, message.Batched{Messages: 6, Next: 12, Records: 2, Bytes: len(out)}, done)
	got, _, err := record.Parse(out)
	require.NoError(t, err)
	require.Equal(t, int64(0), got.BaseOffset)
	require.Equal(t, int64(11), got.LastOffset())
	records, next := consume(t, out, 0)
	require.Equal(t, int64(12), next)
	require.Equal(t, []int64{3, 9}, []int64{records[0].Offset, records[1].Offset})

	out, done = b.Append(nil, messages[4:], message.Want{From: 10, MaxBytes: 1000, AtLeastOne: true})
	require.Empty(t, out)
	require.Equal(t, message.Batched{Messages: 2, Next: 12}, done)
}

func TestBatcherLogAppendTime(t *testing.T) {
	t.Parallel()
	r := message.Record{Timestamp: 1_799_999_999_990, Value: []byte("gateway's")}
	written, err := message.Encode(&r, message.RandomID())
	require.NoError(t, err)
	written.Header.Offset, written.Header.Timestamp = 2, 1_800_000_000_000_000
	messages := []message.Message{native(0, "a", 1_800_000_000_000), native(1, "b", 1_800_000_000_000), written, native(3, "c", 1_800_000_000_001)}
	b := message.Batcher{LogAppendTime: true}
	out, done := b.Append(nil, messages, message.Want{MaxBytes: 1000})
	require.Equal(t, 4, done.Records)
	var times []int64
	for rest := out; len(rest) > 0; {
		var one record.Batch
		one, rest, err = record.Parse(rest)
		require.NoError(t, err)
		require.True(t, one.LogAppendTime())
		require.Equal(t, one.BaseTimestamp, one.MaxTimestamp)
		times = append(times, one.MaxTimestamp)
	}
	require.Equal(t, []int64{1_800_000_000_000, 1_799_999_999_990, 1_800_000_000_001}, times)
	for i, want := range []int64{1_800_000_000_000, 1_800_000_000_000, 1_799_999_999_990, 1_800_000_000_001} {
		ms, err := message.Timestamp(&messages[i], true)
		require.NoError(t, err)
		require.Equal(t, want, ms)
	}
	bad := unreadable(5)
	_, err = message.Timestamp(&bad, true)
	require.ErrorIs(t, err, message.ErrUnreadable)
}

// A consumer passes over a gap that has nothing behind it.
func TestAppendGap(t *testing.T) {
	t.Parallel()
	out := message.AppendGap([]byte("kept"), 5, 9)
	require.Equal(t, "kept", string(out[:4]))
	got, rest, err := record.Parse(out[4:])
	require.NoError(t, err)
	require.Empty(t, rest)
	require.True(t, got.ValidCRC())
	require.Equal(t, int64(4), got.BaseOffset)
	require.Equal(t, int64(9), got.LastOffset())
	records, next := consume(t, out[4:], 5)
	require.Empty(t, records)
	require.Equal(t, int64(10), next)

	var b message.Batcher
	whole, _ := b.Append(out[4:], []message.Message{native(10, "after", 1)}, message.Want{From: 10, MaxBytes: 1000})
	records, next = consume(t, whole, 5)
	require.Len(t, records, 1)
	require.Equal(t, int64(11), next)

	records, next = consume(t, message.AppendGap(nil, 0, 3), 0)
	require.Empty(t, records)
	require.Equal(t, int64(4), next)
	records, next = consume(t, message.AppendGap(nil, 0, 3<<31), 0)
	require.Empty(t, records)
	require.Equal(t, int64(3<<31+1), next)
	require.Empty(t, message.AppendGap(nil, 5, 4))
}

// Messages of the largest size, whatever the limit.
func TestBatcherLargest(t *testing.T) {
	t.Parallel()
	m := native(0, "", 1)
	m.Payload = make([]byte, message.MaxPayload)
	var b message.Batcher
	out, done := b.Append(nil, []message.Message{m, native(1, "next", 1)}, message.Want{MaxBytes: 1 << 20, AtLeastOne: true})
	require.Equal(t, 1, done.Messages)
	require.Greater(t, len(out), message.MaxPayload)
	records, next := consume(t, out, 0)
	require.Len(t, records, 1)
	require.Equal(t, int64(1), next)
}
