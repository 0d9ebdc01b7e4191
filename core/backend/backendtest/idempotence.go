package backendtest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// idempotence walks through the table of KIP-98 as a broker applies it.
func idempotence(h *harness) {
	steps := []struct {
		why   string
		batch recordtest.Batch
		at    int64 // base offset; the next free one unless it is a duplicate
		dup   bool
		err   error
	}{
		{"unknown producer, any sequence", from(7, 1, 40, 3), 0, false, nil},
		{"follows", from(7, 1, 43, 1), 3, false, nil},
		{"repeats the last", from(7, 1, 43, 1), 3, true, nil},
		{"repeats one before", from(7, 1, 40, 3), 0, true, nil},
		{"same first, other last sequence", from(7, 1, 40, 2), 0, false, backend.ErrOutOfOrderSequence},
		{"leaves a gap", from(7, 1, 45, 1), 0, false, backend.ErrOutOfOrderSequence},
		{"lies before what is known", from(7, 1, 39, 1), 0, false, backend.ErrOutOfOrderSequence},
		{"lower epoch", from(7, 0, 44, 1), 0, false, backend.ErrInvalidProducerEpoch},
		{"lower epoch, a duplicate", from(7, 0, 43, 1), 0, false, backend.ErrInvalidProducerEpoch},
		{"a refusal changes nothing", from(7, 1, 44, 1), 4, false, nil},
		{"third of the window", from(7, 1, 45, 1), 5, false, nil},
		{"fourth", from(7, 1, 46, 1), 6, false, nil},
		{"the oldest of five is still known", from(7, 1, 40, 3), 0, true, nil},
		{"sixth", from(7, 1, 47, 1), 7, false, nil},
		{"the oldest has been forgotten", from(7, 1, 40, 3), 0, false, backend.ErrOutOfOrderSequence},
		{"the second is still known", from(7, 1, 43, 1), 3, true, nil},
		{"higher epoch must begin at 0", from(7, 2, 48, 1), 0, false, backend.ErrOutOfOrderSequence},
		{"higher epoch", from(7, 2, 0, 2), 8, false, nil},
		{"its window began anew", from(7, 2, 47, 1), 0, false, backend.ErrOutOfOrderSequence},
		{"the old epoch is over", from(7, 1, 48, 1), 0, false, backend.ErrInvalidProducerEpoch},
		{"another producer", from(8, 0, 0, 1), 10, false, nil},
		{"no producer", recordtest.Values("x"), 11, false, nil},
		{"and none again", recordtest.Values("x"), 12, false, nil},
		{"the largest sequence", from(9, 0, math.MaxInt32-1, 2), 13, false, nil},
		{"0 follows it", from(9, 0, 0, 1), 15, false, nil},
		{"a batch across it", from(10, 0, math.MaxInt32, 3), 16, false, nil},
		{"goes on at 2", from(10, 0, 2, 1), 19, false, nil},
		{"repeats it", from(10, 0, math.MaxInt32, 3), 16, true, nil},
	}
	p := h.log("t")
	end := int64(0)
	for _, step := range steps {
		got := h.append(p, step.batch)
		if step.err != nil {
			require.ErrorIs(h, got.Err, step.err, step.why)
		} else {
			require.Equal(h, backend.Appended{BaseOffset: step.at, AppendTime: -1, Duplicate: step.dup}, got, step.why)
			if !step.dup {
				end += int64(len(step.batch.Records))
			}
		}
		require.Equal(h, backend.Bounds{End: end}, h.bounds(p), step.why)
	}
	// Partitions know nothing of each other.
	other := h.log("other")
	require.EqualValues(h, 0, h.store(other, from(7, 0, 99, 1)))
}
