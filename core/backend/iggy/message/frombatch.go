package message

import (
	"context"

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
	return dst, ErrTooLarge
}
