package message

import (
	"fmt"
	"math"
	"slices"

	"github.com/iggykafka/gateway/core/record"
)

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

	decoder decoder
	builder record.Builder
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
	a := appending{Batcher: b, want: w, out: dst, start: len(dst), begin: w.From, done: Batched{Next: w.From}}
	if b.Codec == record.None {
		a.out = slices.Grow(dst, estimate(messages, w))
	}
	for i := range messages {
		if !a.message(&messages[i]) {
			break
		}
		a.done.Messages++
	}
	a.finish()
	a.done.Bytes = len(a.out) - a.start
	return a.out, a.done
}

// appending is one Append at work.
type appending struct {
	*Batcher
	want  Want
	out   []byte // dst with the batches that are finished
	start int    // where they begin
	done  Batched
	begin int64 // the offset that the next batch covers first

	open     bool  // a batch is being built, behind out
	base     int64 // its base offset
	baseTime int64
}

// recordFrame is about what a record takes in a batch beside its fields.
const recordFrame = 16

// estimate returns about how long the batches will be, from above where the
// messages have no more headers than usual.
func estimate(messages []Message, w Want) int {
	n := record.HeaderSize
	for i := range messages {
		n += len(messages[i].Payload) + len(messages[i].UserHeaders) + recordFrame
		if n >= w.MaxBytes && (i > 0 || !w.AtLeastOne) {
			return max(w.MaxBytes, 0)
		}
	}
	return n
}

// message uses a message up; false says that there is no room for it.
func (a *appending) message(m *Message) bool {
	offset := int64(m.Header.Offset)
	if offset < a.done.Next {
		return true // below From
	}
	r, err := a.decoder.decode(m)
	if err == nil && Size(m) > largestBatch {
		err = fmt.Errorf("%w: %d bytes", ErrUnreadable, Size(m))
	}
	if err != nil {
		if a.Unreadable != nil {
			a.Unreadable(offset, err)
		}
		a.done.Next = offset + 1
		return true
	}
	timestamp := a.decoder.time(m, a.LogAppendTime)
	if !a.add(&r, offset, timestamp) {
		return false
	}
	a.done.Records++
	a.done.Next = offset + 1
	return true
}

// add adds a record to the batch that is open, or to a new one.
func (a *appending) add(r *record.Record, offset, timestamp int64) bool {
	if a.open {
		if a.extend(r, offset, timestamp) {
			return true
		}
		a.finish()
	}
	base := a.begin
	if offset-base > math.MaxInt32 {
		base = offset
	}
	r.OffsetDelta, r.TimestampDelta = int32(offset-base), 0
	first := a.done.Records == 0 && a.want.AtLeastOne
	if need := record.HeaderSize + record.RecordSize(r); !first && (need > a.room() || a.crumbs()) {
		return false
	}
	a.builder.Begin(a.out, record.Start{
		BaseOffset: base, BaseTimestamp: timestamp, Codec: a.Codec, LogAppendTime: a.LogAppendTime,
	})
	a.builder.Add(r)
	a.open, a.base, a.baseTime = true, base, timestamp
	return true
}

// extend adds a record to the batch that is open, when it belongs there and fits.
func (a *appending) extend(r *record.Record, offset, timestamp int64) bool {
	if offset-a.base > math.MaxInt32 || a.LogAppendTime && timestamp != a.baseTime {
		return false
	}
	r.OffsetDelta, r.TimestampDelta = int32(offset-a.base), timestamp-a.baseTime
	if size := a.builder.Size() + record.RecordSize(r); size > a.batchBytes() || size > a.room() {
		return false
	}
	a.builder.Add(r)
	return true
}

// finish ends the batch that is open. It covers what has been passed over behind
// its last record.
func (a *appending) finish() {
	if a.open {
		a.out = a.builder.Finish(int32(min(a.done.Next-1-a.base, math.MaxInt32)))
		a.open, a.begin = false, a.done.Next
	}
}

// room returns how much may be appended to the batches that are finished.
func (a *appending) room() int { return a.want.MaxBytes - (len(a.out) - a.start) }

// crumbs reports whether compression has left so little room that another batch
// is not worth its making.
func (a *appending) crumbs() bool {
	return a.Codec != record.None && a.done.Records > 0 && a.room() < min(a.batchBytes(), a.want.MaxBytes)/8
}

func (b *Batcher) batchBytes() int {
	if b.BatchBytes <= 0 {
		return DefaultBatchBytes
	}
	return min(b.BatchBytes, largestBatch)
}

// largestBatch, in bytes, is far above what a server stores in a message and below
// what the length of a batch can say.
const largestBatch = 1 << 30

// AppendGap appends batches that cover the offsets from first to last and have no
// record there, for a consumer that asked for first: one, unless there are more
// than 2^31 offsets. Without it consumers would wait for ever in front of
// unreadable offsets at the end of a log.
//
// The batch has one record at the offset before first. Consumers leave it out, as
// they do whenever a batch begins before the offset that they asked for, and go
// on behind the batch. Without any record, which is what compaction leaves, some
// do not go on (kafkajs); a transaction marker is shown as a record by others
// (kafka-go). In front of offset 0 there is nothing, so that batch is empty.
func AppendGap(dst []byte, first, last int64) []byte {
	var b record.Builder
	for first <= last {
		base := max(first-1, 0)
		end := min(last, base+math.MaxInt32)
		b.Begin(dst, record.Start{BaseOffset: base, BaseTimestamp: -1})
		if base < first {
			b.Add(&record.Record{})
		}
		dst = b.Finish(int32(end - base))
		first = end + 1
	}
	return dst
}
