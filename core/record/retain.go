package record

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// horizonBit in the attributes says that the base timestamp is the batch's delete
// horizon (KIP-534). The records' deltas count from it as from any other.
const horizonBit int16 = 0x40

// DeleteHorizon returns the time, in ms since the epoch, from which on log
// compaction may remove the batch's tombstones; ok is false when none has been set
// (KIP-534).
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	return b.BaseTimestamp, b.Attributes&horizonBit != 0
}

// Retainer rewrites batches without some of their records, as log compaction does.
// It keeps memory from one batch to the next; one goroutine at a time may use it.
type Retainer struct {
	build Builder
	kept  []bool // of the records that Select has seen
	count int    // of those that are kept
}

// Select asks keep about each record of the batch, and returns how many it keeps.
// Records of more than limit bytes together, decompressed, are refused with an
// error that wraps ErrInvalid; for others see [Batch.Read].
func (t *Retainer) Select(ctx context.Context, b Batch, limit int, keep func(*Record) bool) (int, error) {
	t.kept, t.count = t.kept[:0], 0
	total := 0
	err := b.Read(ctx, int32(min(limit, math.MaxInt32)), func(r *Record) error {
		if total += RecordSize(r); total > limit {
			return fmt.Errorf("%w: records of more than %d bytes", ErrInvalid, limit)
		}
		stays := keep(r)
		t.kept = append(t.kept, stays)
		if stays {
			t.count++
		}
		return nil
	})
	return t.count, err
}

// Append writes the batch that Select has just seen behind dst, with the records
// that were kept. As in Kafka's cleaner it spans the same offsets and has the same
// producer, sequence, codec and kind of time; offset deltas and times stay those of
// the records. horizon, in ms since the epoch, becomes its delete horizon; a negative
// one leaves what it has. Without any record it is [AppendEmpty].
func (t *Retainer) Append(ctx context.Context, dst []byte, b Batch, horizon int64) ([]byte, error) {
	if t.count == 0 {
		return AppendEmpty(dst, b), nil
	}
	attributes := b.Attributes &^ codecMask
	start := Start{BaseOffset: b.BaseOffset, BaseTimestamp: b.BaseTimestamp, Codec: b.Codec()}
	if horizon >= 0 {
		start.BaseTimestamp = horizon
		attributes |= horizonBit
	}
	t.build.Begin(dst, start)
	shift, i := b.BaseTimestamp-start.BaseTimestamp, 0
	// What Select took is not too long.
	err := b.Read(ctx, math.MaxInt32, func(r *Record) error {
		if t.kept[i] {
			r.TimestampDelta += shift
			t.build.Add(r)
		}
		i++
		return nil
	})
	if err != nil {
		return dst, err
	}
	out := t.build.Finish(b.LastOffsetDelta)
	h := out[len(dst):]
	if b.LogAppendTime() {
		binary.BigEndian.PutUint64(h[atMaxTimestamp:], uint64(b.MaxTimestamp))
	}
	codec := int16(binary.BigEndian.Uint16(h[atAttributes:])) & codecMask
	seal(h, b, attributes|codec)
	return out, nil
}

// AppendEmpty writes a batch without records behind dst. Offsets, producer, sequence
// and largest timestamp are those of b: so a reader goes on behind it, and what its
// producer sent last stays known. It has no delete horizon.
func AppendEmpty(dst []byte, b Batch) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	h := dst[at:]
	binary.BigEndian.PutUint64(h, uint64(b.BaseOffset))
	binary.BigEndian.PutUint32(h[atLength:], HeaderSize-lengthOverhead)
	h[atMagic] = 2
	binary.BigEndian.PutUint32(h[atLastDelta:], uint32(b.LastOffsetDelta))
	binary.BigEndian.PutUint64(h[atBaseTimestamp:], math.MaxUint64) // −1
	binary.BigEndian.PutUint64(h[atMaxTimestamp:], uint64(b.MaxTimestamp))
	seal(h, b, b.Attributes&^(codecMask|horizonBit))
	return dst
}

// seal gives a batch the attributes, the leader epoch and the producer of another,
// and its CRC.
func seal(h []byte, from Batch, attributes int16) {
	binary.BigEndian.PutUint32(h[atLeaderEpoch:], uint32(from.LeaderEpoch))
	binary.BigEndian.PutUint16(h[atAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(h[atProducerID:], uint64(from.ProducerID))
	binary.BigEndian.PutUint16(h[atProducerEpoch:], uint16(from.ProducerEpoch))
	binary.BigEndian.PutUint32(h[atBaseSequence:], uint32(from.BaseSequence))
	binary.BigEndian.PutUint32(h[atCRC:], checksum(h))
}
