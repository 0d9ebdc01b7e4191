package record_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// nullable draws bytes or null.
func nullable(t *rapid.T, label string, longest int) []byte {
	if rapid.Bool().Draw(t, label+" null") {
		return nil
	}
	return rapid.SliceOfN(rapid.Byte(), 0, longest).Draw(t, label)
}

// drawn draws a batch and the timestamps of its records.
func drawn(t *rapid.T) (recordtest.Batch, []int64) {
	b := recordtest.New()
	var times []int64
	for range rapid.IntRange(1, 20).Draw(t, "records") {
		r := recordtest.Record{
			Key: nullable(t, "key", 20), Value: nullable(t, "value", 200),
			Timestamp: rapid.Int64Range(1, 1<<41).Draw(t, "timestamp"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, kmsg.Header{
				Key: rapid.StringN(0, 10, -1).Draw(t, "name"), Value: nullable(t, "header", 10),
			})
		}
		b.Records, times = append(b.Records, r), append(times, r.Timestamp)
	}
	b.Codec = record.Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
	b.Xerial = rapid.Bool().Draw(t, "xerial")
	if rapid.Bool().Draw(t, "idempotent") {
		b = b.From(rapid.Int64Range(0, 1<<62).Draw(t, "producer"), rapid.Int16Min(0).Draw(t, "epoch"), rapid.Int32Min(0).Draw(t, "sequence"))
	}
	return b, times
}

// What an independent codec writes is read, and times are found as a plain
// search over the records finds them.
func TestReadsWhatKmsgWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batch, times := drawn(t)
		b, rest, err := record.Parse(batch.Bytes())
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, batch.ProducerID, b.ProducerID)
		require.Equal(t, batch.BaseSequence, b.BaseSequence)

		largest, first := times[0], 0
		for i, ms := range times {
			if ms > largest {
				largest, first = ms, i
			}
		}
		got, err := record.Check(context.Background(), b, open)
		require.NoError(t, err)
		require.Equal(t, largest, got)
		delta, ms, err := record.MaxTime(b)
		require.NoError(t, err)
		require.Equal(t, largest, ms)
		require.Equal(t, int32(first), delta)

		target := rapid.Int64Range(0, 1<<41).Draw(t, "target")
		delta, ms, ok, err := record.FindTime(b, target)
		require.NoError(t, err)
		for i, have := range times {
			if have >= target {
				require.True(t, ok)
				require.Equal(t, int32(i), delta)
				require.Equal(t, have, ms)
				return
			}
		}
		require.False(t, ok)
	})
}

// Where Check finds uncompressed records in order, an independent decoder finds
// the same number of them in the same bytes, whatever was done to those.
func TestAgreesWithKmsgOnDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batch, _ := drawn(t)
		batch.Codec = record.None
		raw := batch.Bytes()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(record.HeaderSize, len(raw)-1).Draw(t, "at")
			raw[at] = rapid.Byte().Draw(t, "byte")
		}
		b, _, err := record.Parse(recordtest.Seal(raw))
		require.NoError(t, err)
		if _, err := record.Check(context.Background(), b, open); err != nil {
			require.ErrorIs(t, err, record.ErrInvalid)
			return
		}
		left := raw[record.HeaderSize:]
		for i := range b.Count {
			var r kmsg.Record
			require.NoError(t, r.ReadFrom(left))
			require.Equal(t, i, r.OffsetDelta)
			r.Length = 0
			left = left[encodedLen(left):]
		}
		require.Empty(t, left)
	})
}

// encodedLen returns the length of the first record, its prefix included.
func encodedLen(records []byte) int {
	var r kmsg.Record
	_ = r.ReadFrom(records)
	prefix := 1
	for n := records; n[0] >= 0x80; n = n[1:] {
		prefix++
	}
	return prefix + int(r.Length)
}
