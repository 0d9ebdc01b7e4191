package embedded

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fullRoom is the room of a store whose counts take as long as those of millions of
// offsets.
type fullRoom struct {
	*offsetRoom
	t      *testing.T
	there  atomic.Int64
	counts int
	failed error
}

const (
	sizeOfOffset = 90
	timeOfCount  = 1500 * time.Millisecond
)

// commit commits an offset, a new one or one that is there.
func (r *fullRoom) commit(more int64) bool {
	ok, err := r.take(sizeOfOffset, func() (int64, error) { return more, nil })
	require.NoError(r.t, err)
	if ok {
		r.there.Add(more)
	}
	if r.due(!ok) {
		r.counts++
		failed := r.failed
		go func() {
			err := r.recount(func() (int64, error) {
				there := r.there.Load()
				time.Sleep(timeOfCount)
				return there, failed
			})
			if !errors.Is(err, failed) {
				r.t.Errorf("count: %v", err)
			}
		}()
		synctest.Wait() // no commit is on its way when a count begins
	}
	return ok
}

// While there is room new offsets are taken, however many of those that are there are
// committed again in the time in which nobody counts.
func TestReplacedOffsetsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fullRoom{offsetRoom: newOffsetRoom(maxOffsets), t: t}
		r.there.Store(240 << 20)
		require.True(t, r.commit(0))
		for i := range 2 * 15_000 { // ms; 20,000 offsets and 500 new ones a second
			for range 20 {
				require.True(t, r.commit(0))
			}
			if i%2 == 0 {
				require.True(t, r.commit(sizeOfOffset), "after %d ms", i)
			}
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 1, r.counts, "what is charged is what there is")
		for r.commit(sizeOfOffset) {
		}
		require.LessOrEqual(t, r.there.Load(), int64(maxOffsets))
		require.Greater(t, r.there.Load(), int64(maxOffsets-2*sizeOfOffset))
		require.True(t, r.commit(0))

		// What is deleted makes room with the next count.
		time.Sleep((countShare + 1) * timeOfCount)
		r.there.Store(100 << 20)
		require.False(t, r.commit(sizeOfOffset))
		time.Sleep(timeOfCount + time.Millisecond)
		require.True(t, r.commit(sizeOfOffset))
	})
}

// A full store that commits only what it has does not count again and again; nor does
// one that cannot.
func TestCountsOfAFullStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fullRoom{offsetRoom: newOffsetRoom(maxOffsets), t: t, failed: errors.New("disk")}
		r.there.Store(maxOffsets)
		for range 600 { // ten minutes
			require.True(t, r.commit(0))
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, r.counts, "one a minute, and the time that it takes")
		r.failed = nil
		time.Sleep(countAfterError)
		require.True(t, r.commit(0))
		time.Sleep(2 * timeOfCount)
		r.counts = 0
		for range 600 {
			require.True(t, r.commit(0))
			time.Sleep(time.Second)
		}
		require.Zero(t, r.counts)
		for range 600 {
			require.False(t, r.commit(sizeOfOffset))
			time.Sleep(time.Second)
		}
		require.InDelta(t, 600/(timeOfCount+countShare*timeOfCount).Seconds(), r.counts, 2, "a tenth of a processor")
	})
}
