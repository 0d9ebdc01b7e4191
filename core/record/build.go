package record

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Start is what a Builder begins a batch with.
type Start struct {
	BaseOffset    int64
	BaseTimestamp int64 // ms since the epoch
	// Codec compresses the records, unless that makes them larger: then the
	// batch is not compressed.
	Codec Codec
	// LogAppendTime says that all records have the time of their append: the
	// largest that they are given.
	LogAppendTime bool
}

// Builder writes batches of magic 2, of no producer and of leader epoch 0. It
// keeps memory for compressed batches from one to the next. The zero value is
// ready; one goroutine at a time may use it.
type Builder struct {
	start Start
	out   []byte // the caller's, and what has been built
	at    int    // where the batch begins in out
	plain []byte // the records of a compressed batch
	count int32
	last  int32 // offset delta
	max   int64 // timestamp
}

// Begin begins a batch behind dst. The bytes are the Builder's until Finish.
func (b *Builder) Begin(dst []byte, s Start) {
	b.start, b.at, b.count, b.last, b.max = s, len(dst), 0, 0, math.MinInt64
	b.out = append(dst, make([]byte, HeaderSize)...)
	if cap(b.plain) > keptPlain {
		b.plain = nil
	}
	b.plain = b.plain[:0]
}

// keptPlain is the largest buffer for a batch to be compressed that waits for
// the next one.
const keptPlain = 4 << 20

// Size returns how long the batch is so far, before compression; Finish never
// makes it longer.
func (b *Builder) Size() int { return len(b.out) - b.at + len(b.plain) }

// Count returns how many records the batch has so far.
func (b *Builder) Count() int { return int(b.count) }

// Add appends a record. Its deltas count from those of Start; offset deltas
// ascend and may leave gaps.
func (b *Builder) Add(r *Record) {
	if b.start.Codec == None {
		b.out = appendRecord(b.out, r)
	} else {
		b.plain = appendRecord(b.plain, r)
	}
	b.count++
	b.last = r.OffsetDelta
	b.max = max(b.max, b.start.BaseTimestamp+r.TimestampDelta)
}

// RecordSize returns by how much Add makes a batch longer.
func RecordSize(r *Record) int {
	n := bodySize(r)
	return varintSize(int64(n)) + n
}

func bodySize(r *Record) int {
	return 1 + varintSize(r.TimestampDelta) + varintSize(int64(r.OffsetDelta)) + fieldSize(r.Key) + fieldSize(r.Value) +
		varintSize(int64(r.Headers.left)) + len(r.Headers.raw)
}

// varintSize returns the length of a zigzag varint.
func varintSize(v int64) int {
	return (bits.Len64(uint64(v<<1)^uint64(v>>63)|1) + 6) / 7
}

func appendRecord(out []byte, r *Record) []byte {
	out = binary.AppendVarint(out, int64(bodySize(r)))
	out = append(out, 0) // attributes
	out = binary.AppendVarint(out, r.TimestampDelta)
	out = binary.AppendVarint(out, int64(r.OffsetDelta))
	out = appendField(out, r.Key)
	out = appendField(out, r.Value)
	out = binary.AppendVarint(out, int64(r.Headers.left))
	return append(out, r.Headers.raw...)
}

// Finish ends the batch and returns what Begin got with the batch behind it.
// lastDelta is the offset delta that the batch ends with, the last record's or
// above it when a gap follows; −1 stands for the last record's.
func (b *Builder) Finish(lastDelta int32) []byte {
	attributes := b.attributes()
	if b.start.Codec != None {
		var ok bool
		if b.out, ok = b.start.Codec.appendCompressed(b.out, b.plain); !ok {
			attributes &^= codecMask
		}
	}
	h := b.out[b.at:]
	if b.count == 0 {
		b.max = b.start.BaseTimestamp
	}
	binary.BigEndian.PutUint64(h, uint64(b.start.BaseOffset))
	binary.BigEndian.PutUint32(h[atLength:], uint32(len(h)-lengthOverhead))
	h[atMagic] = 2
	binary.BigEndian.PutUint16(h[atAttributes:], uint16(attributes))
	binary.BigEndian.PutUint32(h[atLastDelta:], uint32(max(b.last, lastDelta)))
	binary.BigEndian.PutUint64(h[atBaseTimestamp:], uint64(b.start.BaseTimestamp))
	binary.BigEndian.PutUint64(h[atMaxTimestamp:], uint64(b.max))
	binary.BigEndian.PutUint64(h[atProducerID:], math.MaxUint64) // −1, and so on
	binary.BigEndian.PutUint16(h[atProducerEpoch:], math.MaxUint16)
	binary.BigEndian.PutUint32(h[atBaseSequence:], math.MaxUint32)
	binary.BigEndian.PutUint32(h[atCount:], uint32(b.count))
	binary.BigEndian.PutUint32(h[atCRC:], checksum(h))
	out := b.out
	b.out = nil
	return out
}

func (b *Builder) attributes() int16 {
	a := int16(b.start.Codec) & codecMask
	if b.start.LogAppendTime {
		a |= logAppendTimeBit
	}
	return a
}
