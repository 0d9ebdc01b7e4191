package iggy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"
)

// A gateway was killed between the two sends of a batch whose first message was torn:
// the rest of it is passed over once the batch comes again, and not for another batch
// with the same sequences.
func TestPartOfABatchIsDiscarded(t *testing.T) {
	t.Parallel()
	f := newWriterFakes(t, 1, noCache)
	require.Equal(t, stored(0), f.append(0, by(1, 0, "a")))
	f.records.add(0, f.writes.micros(), toMessages(t, by(1, 1, "b", "c", "d").Batch(t))[1:]...)
	f.again()
	require.Error(t, f.append(0, by(1, 1, "x", "y", "z")).Err)
	require.Equal(t, map[int64]string{0: "a", 1: "c", 2: "d"}, f.consumed(0))
	require.Empty(t, messages(f.logs, zapcore.WarnLevel))

	want := map[int64]string{0: "a", 3: "b", 4: "c", 5: "d"}
	require.Equal(t, stored(3), f.append(0, by(1, 1, "b", "c", "d")))
	require.Len(t, messages(f.logs, zapcore.WarnLevel), 1)
	var again []string
	for _, r := range f.consume(0, 3, manyBytes) {
		again = append(again, string(r.Value))
	}
	require.Equal(t, []string{"b", "c", "d"}, again, "who had read the part gets it again")
	for range 2 {
		require.Equal(t, want, f.consumed(0))
		require.Equal(t, twice(3), f.append(0, by(1, 1, "b", "c", "d")))
		f.again()
	}
	require.Equal(t, stored(6), f.append(0, by(1, 4, "e")))
	f.freed(0)
}
