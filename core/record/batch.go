// Package record reads Kafka record batches of magic 2 (KIP-98) in place: it
// parses their header, checks them as a broker checks what a producer sends,
// and walks their records, compressed or not, without keeping them.
//
// # Errors
//
// Every error of this package wraps [ErrInvalid] (INVALID_RECORD) or
// [ErrCorrupt] (CORRUPT_MESSAGE), is or holds a [*Rejected], or is the error of
// a context.
//
// # Memory
//
// Uncompressed records are walked without allocating. Compressed ones go
// through pooled decoders that keep no output; what such a decoder holds is
// known before it starts ([Batch.DecoderMemory]), however much the records
// swell. A Batch aliases the bytes it was parsed from.
package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// HeaderSize is the length in bytes of a batch header, from the base offset to
// the record count.
const HeaderSize = 61

// What is wrong with a batch.
var (
	// ErrInvalid: not one whole batch of magic 2, or its content contradicts
	// its header or cannot be decoded.
	ErrInvalid = errors.New("invalid record batch")
	// ErrCorrupt: the CRC does not fit, or the header makes no sense.
	ErrCorrupt = errors.New("corrupt record batch")
	// ErrTimestamp: record timestamps outside the topic's bounds.
	ErrTimestamp = errors.New("invalid timestamp")
)

// Batch is one whole record batch: its bytes and the header fields parsed from
// them. The zero value of a field never means "not parsed".
type Batch struct {
	// Bytes is the batch, from its base offset on, exactly as long as its
	// length field says.
	Bytes []byte

	BaseOffset      int64
	LeaderEpoch     int32
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms since the epoch, or −1
	MaxTimestamp    int64 // ms since the epoch, or −1
	ProducerID      int64 // −1: not idempotent
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32 // records
}

// Codec is the compression of a batch's records, as its attributes number it.
type Codec int16

// The codecs of the protocol. Numbers up to 7 fit the attributes; those
// without a name mean nothing.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// The bits of Attributes.
const (
	codecMask        int16 = 0x07
	logAppendTimeBit int16 = 0x08
	transactionalBit int16 = 0x10
	controlBit       int16 = 0x20
)

// Where the header fields lie.
const (
	atLength        = 8
	atLeaderEpoch   = 12
	atMagic         = 16
	atCRC           = 17
	atAttributes    = 21
	atLastDelta     = 23
	atBaseTimestamp = 27
	atMaxTimestamp  = 35
	atProducerID    = 43
	atProducerEpoch = 51
	atBaseSequence  = 53
	atCount         = 57
	// lengthOverhead is what comes before the bytes that the length counts.
	lengthOverhead = 12
)

// Codec returns how the records are compressed.
func (b Batch) Codec() Codec { return Codec(b.Attributes & codecMask) }

// LogAppendTime reports whether all records carry MaxTimestamp, the time of
// their append, in place of their own.
func (b Batch) LogAppendTime() bool { return b.Attributes&logAppendTimeBit != 0 }

// Transactional reports whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes&transactionalBit != 0 }

// InTransaction reports whether bytes that may be a batch, and may be too few for
// one, say that it belongs to a transaction.
func InTransaction(raw []byte) bool {
	return len(raw) > atAttributes+1 && raw[atMagic] == 2 && int16(raw[atAttributes+1])&transactionalBit != 0
}

// Control reports whether the batch holds transaction markers.
func (b Batch) Control() bool { return b.Attributes&controlBit != 0 }

// LastOffset returns the offset of the last record.
func (b Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }

// LastSequence returns the sequence number of the last record; 0 follows
// 2^31−1. It means nothing without a producer id.
func (b Batch) LastSequence() int32 {
	return int32((int64(b.BaseSequence) + int64(b.LastOffsetDelta)) & (1<<31 - 1))
}

// ValidCRC reports whether the CRC in the header is that of the bytes.
func (b Batch) ValidCRC() bool { return b.CRC == checksum(b.Bytes) }

// The setters below write into Bytes and keep the fields in step.

// SetBaseOffset sets the offset of the first record. The CRC does not cover it.
func (b *Batch) SetBaseOffset(offset int64) {
	b.BaseOffset = offset
	binary.BigEndian.PutUint64(b.Bytes, uint64(offset))
}

// SetLeaderEpoch sets the partition leader epoch. The CRC does not cover it.
func (b *Batch) SetLeaderEpoch(epoch int32) {
	b.LeaderEpoch = epoch
	binary.BigEndian.PutUint32(b.Bytes[atLeaderEpoch:], uint32(epoch))
}

// SetCreateTime says that the records carry their own timestamps, the largest
// of which is ms, and sets the CRC.
func (b *Batch) SetCreateTime(ms int64) { b.setTime(b.Attributes&^logAppendTimeBit, ms) }

// SetLogAppendTime gives all records the time of their append, and sets the
// CRC. The records themselves are not touched: readers see MaxTimestamp.
func (b *Batch) SetLogAppendTime(ms int64) { b.setTime(b.Attributes|logAppendTimeBit, ms) }

func (b *Batch) setTime(attributes int16, ms int64) {
	b.Attributes, b.MaxTimestamp = attributes, ms
	binary.BigEndian.PutUint16(b.Bytes[atAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(b.Bytes[atMaxTimestamp:], uint64(ms))
	b.CRC = checksum(b.Bytes)
	binary.BigEndian.PutUint32(b.Bytes[atCRC:], b.CRC)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC of a batch, which covers what lies behind it.
func checksum(batch []byte) uint32 { return crc32.Checksum(batch[atAttributes:], castagnoli) }
