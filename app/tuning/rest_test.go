package tuning

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Garbage is collected when there is much of it, and nobody else will soon.
func TestWorthwhile(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, c := range map[string]struct {
		heap      heap
		allocated uint64 // meanwhile
		want      bool
	}{
		"a peak is over":                  {heap{objects: 300 * mib, live: 20 * mib, goal: 448 * mib}, 0, true},
		"little is left":                  {heap{objects: 35 * mib, live: 20 * mib, goal: 448 * mib}, 0, false},
		"just enough":                     {heap{objects: 36 * mib, live: 20 * mib, goal: 448 * mib}, 0, true},
		"all of it is in use":             {heap{objects: 300 * mib, live: 300 * mib, goal: 600 * mib}, 0, false},
		"a collection comes in a minute":  {heap{objects: 300 * mib, live: 20 * mib, goal: 448 * mib}, 25 * mib, false},
		"a collection comes in two":       {heap{objects: 300 * mib, live: 20 * mib, goal: 448 * mib}, 12 * mib, true},
		"there is more than was to be":    {heap{objects: 500 * mib, live: 20 * mib, goal: 448 * mib}, 0, false},
		"the runtime tells nothing of it": {heap{}, 0, false},
	} {
		before := heap{allocated: 1000 * mib}
		c.heap.allocated = before.allocated + c.allocated
		require.Equal(t, c.want, c.heap.worthwhile(before), name)
	}
}

// What is read of the runtime is what is meant.
func TestHeapNow(t *testing.T) {
	before := heapNow()
	garbage := make([][]byte, 64)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
	}
	now := heapNow()
	require.GreaterOrEqual(t, now.allocated-before.allocated, uint64(64<<20))
	runtime.GC()
	require.GreaterOrEqual(t, heapNow().live, uint64(64<<20))
	require.GreaterOrEqual(t, heapNow().goal, heapNow().live)
	require.GreaterOrEqual(t, heapNow().objects, uint64(64<<20))
	runtime.KeepAlive(garbage)
	garbage = nil
	runtime.GC() // others look at the heap, too
}
