package record

import (
	"context"
	"math"
)

// FindTimeFrom is FindTime for the records at an offset delta or above: those
// below it have been deleted.
func FindTimeFrom(b Batch, from int32, ms int64) (offsetDelta int32, timestamp int64, ok bool, err error) {
	if from <= 0 {
		return FindTime(b, ms)
	}
	if b.MaxTimestamp < ms {
		return 0, 0, false, nil
	}
	err = b.eachFrom(from, func(delta int32, at int64) (more bool) {
		offsetDelta, timestamp, ok = delta, at, at >= ms
		return !ok
	})
	if err != nil || !ok {
		return 0, 0, false, err
	}
	return offsetDelta, timestamp, true, nil
}

// MaxTimeFrom is MaxTime for the records at an offset delta or above; ok is false
// when there are none.
func MaxTimeFrom(b Batch, from int32) (offsetDelta int32, timestamp int64, ok bool, err error) {
	err = b.eachFrom(from, func(delta int32, at int64) (more bool) {
		if !ok || at > timestamp {
			offsetDelta, timestamp, ok = delta, at, true
		}
		return true
	})
	if err != nil {
		return 0, 0, false, err
	}
	return offsetDelta, timestamp, ok, nil
}

// eachFrom calls visit with the offset deltas and timestamps of the records at an
// offset delta or above, until it wants no more.
func (b Batch) eachFrom(from int32, visit func(delta int32, at int64) (more bool)) error {
	return b.walk(context.Background(), math.MaxInt32, func(_ int32, f fields) (bool, error) {
		if f.offsetDelta < from {
			return true, nil
		}
		at := b.BaseTimestamp + f.timestampDelta
		if b.LogAppendTime() {
			at = b.MaxTimestamp
		}
		return visit(f.offsetDelta, at), nil
	})
}
