package record

import (
	"context"
	"math"
)

// FindTime returns the offset delta and the timestamp of the first record whose
// timestamp is at least the given ms since the epoch; ok is false when there is
// none. Where the records have the time of their append, it is the first
// record or none. ErrInvalid when the records do not decode.
func FindTime(b Batch, ms int64) (offsetDelta int32, timestamp int64, ok bool, err error) {
	if b.MaxTimestamp < ms {
		return 0, 0, false, nil
	}
	same := b.LogAppendTime()
	if same && b.Count > b.LastOffsetDelta {
		return 0, b.MaxTimestamp, true, nil // compaction has not taken the first
	}
	err = b.walk(context.Background(), math.MaxInt32, func(_ int32, f fields) (bool, error) {
		if timestamp = b.BaseTimestamp + f.timestampDelta; same {
			timestamp = b.MaxTimestamp
		}
		offsetDelta, ok = f.offsetDelta, timestamp >= ms
		return !ok, nil
	})
	if err != nil || !ok {
		return 0, 0, false, err
	}
	return offsetDelta, timestamp, true, nil
}

// MaxTime returns the largest timestamp of the batch and the offset delta of
// the first record that has it. ErrInvalid when the records do not decode.
func MaxTime(b Batch) (offsetDelta int32, timestamp int64, err error) {
	offsetDelta, timestamp, ok, err := FindTime(b, b.MaxTimestamp)
	if err == nil && !ok {
		// No record has the time that the header claims.
		return 0, b.MaxTimestamp, nil
	}
	return offsetDelta, timestamp, err
}
