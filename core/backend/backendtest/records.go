package backendtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record"
)

// Record is a record as a consumer sees it.
type Record struct {
	Offset     int64
	Timestamp  int64 // ms since the epoch
	Key, Value []byte
	Headers    []kmsg.Header
}

// Records decodes the records of whole batches, which must be in order and
// sound.
func Records(t testing.TB, b []byte) []Record {
	t.Helper()
	var all []Record
	next := int64(0)
	for _, batch := range split(t, b) {
		require.GreaterOrEqual(t, batch.BaseOffset, next)
		next = batch.LastOffset() + 1
		plain := batch.Bytes[record.HeaderSize:]
		if codec := batch.Codec(); codec != record.None {
			var err error
			plain, err = kgo.DefaultDecompressor().Decompress(plain, kgo.CompressionCodecType(codec))
			require.NoError(t, err)
		}
		for range batch.Count {
			// The length in front does not count itself.
			size, n := binary.Varint(plain)
			require.Positive(t, n)
			var r kmsg.Record
			require.NoError(t, r.ReadFrom(plain[:n+int(size)]))
			plain = plain[n+int(size):]
			out := Record{
				Offset: batch.BaseOffset + int64(r.OffsetDelta), Timestamp: batch.BaseTimestamp + r.TimestampDelta64,
				Key: r.Key, Value: r.Value, Headers: r.Headers,
			}
			if batch.LogAppendTime() {
				out.Timestamp = batch.MaxTimestamp
			}
			all = append(all, out)
		}
		require.Empty(t, plain)
	}
	return all
}
