package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestTimesFrom holds look-ups that begin within a batch against a walk over its
// records.
func TestTimesFrom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(1, 20), 1, 6).Draw(rt, "times")
		b := recordtest.New()
		for _, at := range times {
			b.Records = append(b.Records, recordtest.Record{Timestamp: at})
		}
		b.Codec = rapid.SampledFrom([]record.Codec{record.None, record.Zstd}).Draw(rt, "codec")
		batch := b.Batch(t)
		if rapid.Bool().Draw(rt, "append time") {
			batch.SetLogAppendTime(7)
			for i := range times {
				times[i] = 7
			}
		}
		from := rapid.Int32Range(0, int32(len(times))+1).Draw(rt, "from")
		ms := rapid.Int64Range(0, 21).Draw(rt, "ms")
		first, latest := int32(-1), int32(-1)
		for i, at := range times {
			if int32(i) < from {
				continue
			}
			if first < 0 && at >= ms {
				first = int32(i)
			}
			if latest < 0 || at > times[latest] {
				latest = int32(i)
			}
		}
		delta, at, ok, err := record.FindTimeFrom(batch, from, ms)
		require.NoError(rt, err)
		require.Equal(rt, first >= 0, ok)
		if ok {
			require.Equal(rt, first, delta)
			require.Equal(rt, times[first], at)
		}
		delta, at, ok, err = record.MaxTimeFrom(batch, from)
		require.NoError(rt, err)
		require.Equal(rt, latest >= 0, ok)
		if ok {
			require.Equal(rt, latest, delta)
			require.Equal(rt, times[latest], at)
		}
	})
}

// TestTimesFromDamage: records that do not decode are an error.
func TestTimesFromDamage(t *testing.T) {
	t.Parallel()
	batch, _, err := record.Parse(recordtest.Values("a", "b").WithPayload([]byte("junk")))
	require.NoError(t, err)
	_, _, _, err = record.FindTimeFrom(batch, 1, 0)
	require.ErrorIs(t, err, record.ErrInvalid)
	_, _, _, err = record.MaxTimeFrom(batch, 1)
	require.ErrorIs(t, err, record.ErrInvalid)
}
