package record_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// FuzzBatch feeds any bytes to everything that reads a batch. The CRC is set
// right, so that the fuzzer gets past it.
func FuzzBatch(f *testing.F) {
	for _, b := range codecs(recordtest.Values("hello", "world, hello world, hello world")) {
		f.Add(b.Bytes(), false)
		f.Add(b.Bytes(), true)
	}
	rules := open
	rules.MaxRecordBytes = 1 << 20
	f.Fuzz(func(t *testing.T, raw []byte, appendTime bool) {
		if len(raw) >= record.HeaderSize {
			recordtest.Seal(raw)
		}
		b, rest, err := record.Parse(raw)
		if err != nil {
			require.True(t, errors.Is(err, record.ErrInvalid) != errors.Is(err, record.ErrCorrupt), "%v", err)
			return
		}
		require.Equal(t, len(raw), len(b.Bytes)+len(rest))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		latest, err := record.Check(ctx, b, rules)
		if err != nil {
			return
		}
		if appendTime {
			b.SetLogAppendTime(latest + 1)
		} else if latest != b.MaxTimestamp {
			b.SetCreateTime(latest)
		}
		delta, ms, err := record.MaxTime(b)
		require.NoError(t, err)
		require.Equal(t, b.MaxTimestamp, ms)
		require.True(t, 0 <= delta && delta < b.Count)
		again, err := record.Check(context.Background(), b, rules)
		require.NoError(t, err)
		require.Equal(t, latest, again)
	})
}
