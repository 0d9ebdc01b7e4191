package message

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iggykafka/gateway/core/record"
)

// Limits bound what the records of a batch may become.
type Limits struct {
	// MaxRecordBytes bounds what a compressed record may grow to
	// (max.decompressed.message.bytes).
	MaxRecordBytes int32
	// MaxBytes bounds the messages of the batch together, as they are sent:
	// payloads, user headers and Overhead for each. It is what keeps a small
	// compressed batch from becoming more than there is memory for.
	MaxBytes int64
}

// FromBatch appends a message for every record of a batch to dst, in order.
//
// The ids are those of NewID where the batch has a producer id, and random where
// it has none. A batch with the time of its append gives that time to all its
// messages.
//
// The messages are read only. Payloads of an uncompressed batch alias its
// bytes, which must stay as they are for as long as the messages are used;
// everything else is new, in a few pieces of memory that all messages of the
// batch share. b is not changed.
//
// ErrTooLarge: a record that Iggy does not store, or more than MaxBytes.
// record.ErrInvalid: records that do not decode. The error of ctx, which is
// looked at while compressed records are read. After an error dst comes back as
// it was.
func FromBatch(ctx context.Context, dst []Message, b record.Batch, limits Limits) ([]Message, error) {
	c := conversion{batch: b, limits: limits, messages: dst, encoder: encoder{copies: b.Codec() != record.None}}
	before := len(dst)
	c.messages = slices.Grow(dst, c.expected())
	if err := b.Read(ctx, limits.MaxRecordBytes, c.add); err != nil {
		clear(c.messages[before:])
		return dst, err
	}
	return c.messages, nil
}

// conversion is one FromBatch at work.
type conversion struct {
	encoder
	batch    record.Batch
	limits   Limits
	messages []Message
	bytes    int64 // of the messages, as they are sent
	index    int64 // of the next record
}

// The number of messages that there is room for at first: what the batch claims,
// as far as its bytes and the limits can be true to it.
const (
	smallestRecord  = 8    // bytes, uncompressed
	expectedAtFirst = 1024 // of a compressed batch
)

func (c *conversion) expected() int {
	n := min(int64(c.batch.Count), c.limits.MaxBytes/(Overhead+1))
	if c.copies {
		n = min(n, expectedAtFirst)
	} else {
		n = min(n, int64(len(c.batch.Bytes)/smallestRecord))
	}
	return int(max(n, 0))
}

func (c *conversion) add(r *record.Record) error {
	m, err := c.encode(c.timestamp(r), r, c.id())
	if err != nil {
		return fmt.Errorf("record %d: %w", c.index, err)
	}
	c.bytes += Size(&m)
	if c.bytes > c.limits.MaxBytes {
		return fmt.Errorf("%w: messages of more than %d bytes in one batch", ErrTooLarge, c.limits.MaxBytes)
	}
	c.messages = append(c.messages, m)
	c.index++
	return nil
}

func (c *conversion) timestamp(r *record.Record) int64 {
	if c.batch.LogAppendTime() {
		return c.batch.MaxTimestamp
	}
	return c.batch.BaseTimestamp + r.TimestampDelta
}

// id returns the id of the next record. Sequences go from 2^31−1 to 0.
func (c *conversion) id() ID {
	if c.batch.ProducerID < 0 {
		return RandomID()
	}
	sequence := int32((int64(c.batch.BaseSequence) + c.index) & math.MaxInt32)
	return NewID(c.batch.ProducerID, c.batch.ProducerEpoch, sequence, c.index == 0)
}

// Size returns how many bytes a message takes in a request.
func Size(m *Message) int64 {
	return Overhead + int64(len(m.Payload)) + int64(len(m.UserHeaders))
}
