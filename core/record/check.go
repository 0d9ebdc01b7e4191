package record

import (
	"context"
	"fmt"
	"math"
)

// Rules are what a topic demands of a batch.
type Rules struct {
	// MaxRecordBytes bounds what a compressed record may grow to
	// (max.decompressed.message.bytes).
	MaxRecordBytes int32
	// Keys: records without a key are refused, as on a compacted topic.
	Keys bool
	// LogAppendTime: the topic replaces the timestamps, so they are not checked.
	LogAppendTime bool
	// Earliest and Latest bound the timestamps, in ms since the epoch; −1 is
	// legal whatever they are.
	Earliest, Latest int64
	// MaxRejected is how many records a Rejected lists; 0 none.
	MaxRejected int
}

// Rejected refuses a batch for some of its records.
type Rejected struct {
	// Err is ErrTimestamp or ErrInvalid.
	Err error
	// Records lists them in order, at most as many as the rules allow.
	Records []RejectedRecord
}

// RejectedRecord is one record of a Rejected.
type RejectedRecord struct {
	Index  int32 // in the batch
	Reason string
}

func (r *Rejected) Error() string {
	if len(r.Records) == 0 {
		return r.Err.Error()
	}
	return fmt.Sprintf("%v: %s", r.Err, r.Records[0].Reason)
}

func (r *Rejected) Unwrap() error { return r.Err }

// Check holds a parsed batch against its CRC, its header against its records,
// and the records against the rules. On success it returns the largest
// timestamp of the records, which the header may have wrong, and which is −1 on
// a LogAppendTime topic. It changes nothing, so a batch whose LogAppendTime bit
// or largest timestamp is wrong is still to be set right (SetCreateTime).
//
// ErrCorrupt: the CRC does not fit. ErrInvalid: a control batch, a codec
// without a meaning, a base offset other than 0, a producer id without a
// sequence, a count that is not that of the records, offset deltas that do not
// count up from 0, records that do not decompress or decode, or one above the
// limit. *Rejected: records with timestamps out of bounds (ErrTimestamp) or,
// where there are only those, without a key (ErrInvalid). The error of ctx, which is looked at now and
// then while compressed records are read.
func Check(ctx context.Context, b Batch, rules Rules) (maxTimestamp int64, err error) {
	if !b.ValidCRC() {
		return 0, fmt.Errorf("%w: CRC %08x in the header, %08x of the bytes", ErrCorrupt, b.CRC, checksum(b.Bytes))
	}
	switch {
	case b.Control():
		return 0, fmt.Errorf("%w: clients write no control batches", ErrInvalid)
	case b.BaseOffset != 0:
		return 0, fmt.Errorf("%w: base offset %d, not 0", ErrInvalid, b.BaseOffset)
	case b.ProducerID >= 0 && b.BaseSequence < 0:
		return 0, fmt.Errorf("%w: producer id %d with sequence %d", ErrInvalid, b.ProducerID, b.BaseSequence)
	case b.Count <= 0, int64(b.Count) != int64(b.LastOffsetDelta)+1:
		return 0, fmt.Errorf("%w: %d records with a last offset delta of %d", ErrInvalid, b.Count, b.LastOffsetDelta)
	}
	c := check{batch: b, rules: rules, max: math.MinInt64}
	limit := rules.MaxRecordBytes
	if b.Codec() == None {
		limit = math.MaxInt32 // the size of the batch bounds its records
	}
	if err := b.walk(ctx, limit, c.record); err != nil {
		return 0, err
	}
	return c.result()
}

// check gathers what the walk over the records finds.
type check struct {
	batch    Batch
	rules    Rules
	max      int64
	rejected []RejectedRecord
	err      error // of the Rejected
}

func (c *check) record(index int32, f fields) (more bool, err error) {
	if f.offsetDelta != index {
		return false, fmt.Errorf("%w: record %d has offset delta %d", ErrInvalid, index, f.offsetDelta)
	}
	timestamp := c.batch.BaseTimestamp + f.timestampDelta
	c.max = max(c.max, timestamp)
	switch {
	case c.rules.Keys && f.nullKey:
		if c.err == nil {
			c.err = ErrInvalid
		}
		c.reject(index, "Compacted topic cannot accept message without key.")
	case !c.rules.LogAppendTime && timestamp != -1:
		if timestamp < c.rules.Earliest || timestamp > c.rules.Latest {
			c.err = ErrTimestamp
			c.reject(index, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				timestamp, index, c.rules.Earliest, c.rules.Latest)
		}
	case c.batch.LogAppendTime():
		// Kafka looks at the bit only where it does not look at the timestamp.
		c.err = ErrTimestamp
		c.reject(index, "Invalid timestamp type in message with offset %d. Producer should not set timestamp type to LogAppendTime.", index)
	}
	return true, nil
}

func (c *check) reject(index int32, format string, args ...any) {
	if len(c.rejected) < c.rules.MaxRejected {
		c.rejected = append(c.rejected, RejectedRecord{index, fmt.Sprintf(format, args...)})
	}
}

func (c *check) result() (int64, error) {
	switch {
	case c.err != nil:
		return 0, &Rejected{Err: c.err, Records: c.rejected}
	case c.rules.LogAppendTime:
		return -1, nil
	}
	return c.max, nil
}
