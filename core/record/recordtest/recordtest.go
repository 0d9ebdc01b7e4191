// Package recordtest builds record batches for tests: any codec, headers, null
// keys and values, idempotent producers, and broken ones by writing over the
// bytes of a good one.
package recordtest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/record"
)

// Time is the timestamp, in ms since the epoch, of records that name none. It
// lies in the past, as the default bounds of a topic allow.
const Time int64 = 1_700_000_000_000

// Record is one record. Nil Key and Value are null.
type Record struct {
	Key, Value []byte
	Headers    []kmsg.Header
	Timestamp  int64 // ms since the epoch; 0 means Time
}

// Batch describes a batch. Make one with New or Values, which set what a
// producer without idempotence sends, and change its fields.
type Batch struct {
	Records    []Record
	BaseOffset int64
	Codec      record.Codec
	Xerial     bool  // snappy in the framing of the Java client
	Attributes int16 // or'ed to those of the codec

	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32

	// MaxTimestamp overrides the true one unless it is 0.
	MaxTimestamp int64
}

// New returns a batch of records.
func New(records ...Record) Batch {
	return Batch{Records: records, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
}

// Values returns a batch of records with these values and null keys.
func Values(values ...string) Batch {
	b := New()
	for _, v := range values {
		b.Records = append(b.Records, Record{Value: []byte(v)})
	}
	return b
}

// Compressed returns the batch with another codec.
func (b Batch) Compressed(c record.Codec) Batch { b.Codec = c; return b }

// From returns the batch as sent by an idempotent producer.
func (b Batch) From(id int64, epoch int16, sequence int32) Batch {
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
	return b
}

// At returns the batch with all timestamps set to ms.
func (b Batch) At(ms int64) Batch {
	b.Records = append([]Record(nil), b.Records...)
	for i := range b.Records {
		b.Records[i].Timestamp = ms
	}
	return b
}

// Bytes encodes the batch.
func (b Batch) Bytes() []byte {
	out := kmsg.RecordBatch{
		FirstOffset: b.BaseOffset, PartitionLeaderEpoch: -1, Magic: 2,
		Attributes:      b.Attributes | int16(b.Codec),
		LastOffsetDelta: int32(len(b.Records) - 1),
		ProducerID:      b.ProducerID, ProducerEpoch: b.ProducerEpoch, FirstSequence: b.BaseSequence,
		NumRecords: int32(len(b.Records)),
	}
	var plain []byte
	for i, r := range b.Records {
		ts := r.Timestamp
		if ts == 0 {
			ts = Time
		}
		if i == 0 {
			out.FirstTimestamp, out.MaxTimestamp = ts, ts
		}
		out.MaxTimestamp = max(out.MaxTimestamp, ts)
		k := kmsg.Record{
			TimestampDelta64: ts - out.FirstTimestamp, OffsetDelta: int32(i),
			Key: r.Key, Value: r.Value, Headers: r.Headers,
		}
		// The length is the first field, and a varint.
		k.Length = int32(len(k.AppendTo(nil)) - 1)
		plain = k.AppendTo(plain)
	}
	if b.MaxTimestamp != 0 {
		out.MaxTimestamp = b.MaxTimestamp
	}
	out.Records = compress(b.Codec, b.Xerial, plain)
	out.Length = int32(record.HeaderSize - 12 + len(out.Records))
	return Seal(out.AppendTo(nil))
}

// Batch encodes the batch and parses it again.
func (b Batch) Batch(t testing.TB) record.Batch {
	parsed, rest, err := record.Parse(b.Bytes())
	require.NoError(t, err)
	require.Empty(t, rest)
	return parsed
}

// WithPayload returns a batch like b whose records are these bytes, compressed
// or not: what a faulty producer may send.
func (b Batch) WithPayload(payload []byte) []byte {
	whole := b.Bytes()
	out := append(whole[:record.HeaderSize:record.HeaderSize], payload...)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	return Seal(out)
}

// Seal writes the right CRC into a batch and returns it.
func Seal(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch
}

// Compress encodes bytes as the records of a batch of that codec. Writing into
// memory does not fail.
func Compress(c record.Codec, plain []byte) []byte { return compress(c, false, plain) }

func compress(c record.Codec, xerial bool, plain []byte) []byte {
	var out bytes.Buffer
	switch c {
	case record.Gzip:
		w := gzip.NewWriter(&out)
		w.Write(plain)
		w.Close()
	case record.Snappy:
		if xerial {
			return xerialFrame(plain)
		}
		return snappy.Encode(nil, plain)
	case record.LZ4:
		w := lz4.NewWriter(&out)
		w.Write(plain)
		w.Close()
	case record.Zstd:
		w, _ := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		w.Write(plain)
		w.Close()
	default:
		return plain
	}
	return out.Bytes()
}

// xerialFrame writes the framing of snappy-java: a magic, two versions, and
// blocks of 32 KiB with their compressed length before them.
func xerialFrame(plain []byte) []byte {
	out := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(plain) > 0 {
		n := min(len(plain), 32<<10)
		block := snappy.Encode(nil, plain[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		plain = plain[n:]
	}
	return out
}
