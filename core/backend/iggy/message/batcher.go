package message

import "github.com/iggykafka/gateway/core/record"

// DefaultBatchBytes is about the size of the batches that a Batcher makes.
const DefaultBatchBytes = 1 << 20

// Batcher makes whole record batches from polled messages, for consumers. The
// fields are set before the first use. One goroutine at a time may use it, again
// and again; it keeps a little memory between uses.
type Batcher struct {
	// BatchBytes is the size, before compression, at which a batch is ended; 0
	// means DefaultBatchBytes. A record above it has a batch of its own.
	BatchBytes int
	// Codec compresses the batches, each unless that makes it larger.
	Codec record.Codec
	// LogAppendTime gives records the time of their append: that of the
	// gateway's which wrote them, or the server's for messages of native clients.
	// A batch ends where it changes.
	LogAppendTime bool
	// Unreadable, when it is set, is told of each message that is left out
	// because it cannot be read; the error is an ErrUnreadable.
	Unreadable func(offset int64, err error)
}

// Want is what a Batcher is asked for.
type Want struct {
	// From is the offset that is asked for: messages below it are passed over,
	// and the first batch begins with it, so that it covers a gap in front of the
	// first message.
	From int64
	// MaxBytes bounds what is appended; it is never exceeded, but for
	// AtLeastOne.
	MaxBytes int
	// AtLeastOne has the first record appended whatever its size (KIP-74), as the
	// only one of its batch when that is above MaxBytes.
	AtLeastOne bool
}

// Batched is what came of it.
type Batched struct {
	// Messages is how many were used up, from the first on, those that are left
	// out included.
	Messages int
	// Next is the offset behind the last message that was used up, and From when
	// none was.
	Next int64
	// Records and Bytes are what was appended.
	Records, Bytes int
}

// Append appends whole batches to dst that hold the messages' records, as many
// as fit, and returns it. The messages' offsets must ascend. Offsets without a
// readable message become gaps, which batches may have inside and at both ends,
// as after compaction. Without any readable message there is no batch; see
// AppendGap.
func (b *Batcher) Append(dst []byte, messages []Message, w Want) ([]byte, Batched) {
	return dst, Batched{Next: w.From}
}

// AppendGap appends a batch without a record for consumers that covers the
// offsets from first to last. Consumers pass over it, as over the end of a
// transaction, which it looks like; without it they would wait for ever in front
// of unreadable offsets at the end of a log.
func AppendGap(dst []byte, first, last int64) []byte { return dst }
