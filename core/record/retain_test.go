package record_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// kept is what a test reads back of a record.
type kept struct {
	offset, time int64
	key, value   string
	null         bool
	headers      int
}

func readKept(t require.TestingT, b record.Batch) (all []kept) {
	require.NoError(t, b.Read(tb, 1<<20, func(r *record.Record) error {
		all = append(all, kept{b.BaseOffset + int64(r.OffsetDelta), b.BaseTimestamp + r.TimestampDelta,
			string(r.Key), string(r.Value), r.Value == nil, r.Headers.Len()})
		return nil
	}))
	return all
}

var tb = context.Background()

// A batch without some of its records is the same batch in all else, whatever its
// codec and horizon.
func TestRetain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := recordtest.New()
		n := rapid.IntRange(1, 20).Draw(t, "records")
		for i := range n {
			r := recordtest.Record{Key: []byte(fmt.Sprint("key", i)), Timestamp: recordtest.Time + rapid.Int64Range(-9, 9).Draw(t, "time")}
			if rapid.Bool().Draw(t, "value") {
				r.Value = bytes.Repeat([]byte("v"), rapid.IntRange(0, 500).Draw(t, "length"))
			}
			if rapid.Bool().Draw(t, "header") {
				r.Headers = []kmsg.Header{{Key: "h", Value: []byte("w")}}
			}
			b.Records = append(b.Records, r)
		}
		b = b.From(7, 3, 100).Compressed(record.Codec(rapid.IntRange(0, 4).Draw(t, "codec")))
		b.BaseOffset = 1000
		from, _, err := record.Parse(b.Bytes())
		require.NoError(t, err)
		before := readKept(t, from)

		var (
			retain record.Retainer
			want   []kept
			i      int
		)
		got, err := retain.Select(tb, from, 1<<20, func(r *record.Record) bool {
			stays := rapid.Bool().Draw(t, "stays")
			if stays {
				want = append(want, before[i])
			}
			i++
			return stays
		})
		require.NoError(t, err)
		require.Equal(t, len(want), got)
		horizon := rapid.SampledFrom([]int64{-1, recordtest.Time + 1_000_000}).Draw(t, "horizon")
		out, err := retain.Append(tb, []byte("before"), from, horizon)
		require.NoError(t, err)
		require.Equal(t, "before", string(out[:6]))
		after, rest, err := record.Parse(out[6:])
		require.NoError(t, err)
		require.Empty(t, rest)
		require.True(t, after.ValidCRC())
		require.Equal(t, want, readKept(t, after))
		require.EqualValues(t, len(want), after.Count)
		require.Equal(t, from.LastOffset(), after.LastOffset())
		require.Equal(t, from.LastSequence(), after.LastSequence())
		require.Equal(t, []any{int64(1000), int64(7), int16(3), int32(100), from.LeaderEpoch},
			[]any{after.BaseOffset, after.ProducerID, after.ProducerEpoch, after.BaseSequence, after.LeaderEpoch})
		at, ok := after.DeleteHorizon()
		require.Equal(t, horizon >= 0 && len(want) > 0, ok)
		if ok {
			require.Equal(t, horizon, at)
		}
		most := from.MaxTimestamp
		for j, k := range want {
			if j == 0 {
				most = k.time
			}
			most = max(most, k.time)
		}
		require.Equal(t, most, after.MaxTimestamp)
	})
}

// On a LogAppendTime topic all records have the batch's time; the first that is left
// is found by it.
func TestRetainLogAppendTime(t *testing.T) {
	t.Parallel()
	b := recordtest.Values("a", "b", "c").Batch(t)
	b.SetLogAppendTime(5000)
	var retain record.Retainer
	_, err := retain.Select(t.Context(), b, 1<<20, func(r *record.Record) bool { return r.OffsetDelta == 1 })
	require.NoError(t, err)
	out, err := retain.Append(t.Context(), nil, b, -1)
	require.NoError(t, err)
	after, _, err := record.Parse(out)
	require.NoError(t, err)
	require.True(t, after.LogAppendTime())
	require.EqualValues(t, 5000, after.MaxTimestamp)
	delta, at, ok, err := record.FindTime(after, 4000)
	require.NoError(t, err)
	require.Equal(t, []any{int32(1), int64(5000), true}, []any{delta, at, ok})

	none, _, err := record.Parse(record.AppendEmpty(nil, b))
	require.NoError(t, err)
	_, _, ok, err = record.FindTime(none, 4000)
	require.NoError(t, err)
	require.False(t, ok, "an empty batch has no record")
}

// What swells beyond the limit is refused before it takes the memory.
func TestRetainIsBounded(t *testing.T) {
	t.Parallel()
	many := recordtest.New()
	for range 100 {
		many.Records = append(many.Records, recordtest.Record{Value: make([]byte, 1000)})
	}
	b := many.Compressed(record.Zstd).Batch(t)
	var retain record.Retainer
	_, err := retain.Select(t.Context(), b, 50_000, func(*record.Record) bool { return true })
	require.ErrorIs(t, err, record.ErrInvalid)
	require.ErrorContains(t, err, "more than 50000 bytes")
}
