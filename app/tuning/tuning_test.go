package tuning

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, limit uint64
		want        int
	}{
		{0, 640 * mib, 400},
		{3 * mib, 640 * mib, 400},
		{128 * mib, 640 * mib, 400},
		{160 * mib, 640 * mib, 300},
		{320 * mib, 640 * mib, 100},
		{500 * mib, 640 * mib, 100},
		{640 * mib, 640 * mib, 100},
		{9000 * mib, 640 * mib, 100},
		{3 * mib, 0, 100},
	} {
		require.Equal(t, c.want, percentFor(c.used, c.limit), "%d of %d", c.used, c.limit)
	}
}

func gcPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// GOGC follows what is in use, and everything is as it was at the end.
func TestStart(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS() // the environment of the test may have another
	percent, procs := gcPercent(), runtime.GOMAXPROCS(0)
	stop := Start(100 * mib)
	require.Equal(t, procs+1, runtime.GOMAXPROCS(0))
	require.Equal(t, mostPercent, gcPercent())
	kept := make([]byte, 90*mib)
	becomes := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			runtime.GC()
			return gcPercent() == want
		}, time.Minute, time.Millisecond)
	}
	becomes(leastPercent)
	runtime.KeepAlive(kept)
	kept = nil
	becomes(mostPercent)
	stop()
	require.Equal(t, percent, gcPercent())
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	runtime.GC()
	runtime.GC()
	require.Equal(t, percent, gcPercent(), "nobody changes it any more")
}

// What Go's default happens to be is set where the limit takes it.
func TestStartWithoutRoom(t *testing.T) {
	t.Setenv("GOGC", "")
	percent := gcPercent()
	stop := Start(0)
	require.Equal(t, leastPercent, gcPercent())
	stop()
	require.Equal(t, percent, gcPercent())
}

func TestTheUserDecides(t *testing.T) {
	t.Setenv("GOGC", "100")
	t.Setenv("GOMAXPROCS", "2")
	percent, procs := gcPercent(), runtime.GOMAXPROCS(0)
	stop := Start(1 << 30)
	require.Equal(t, percent, gcPercent())
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	stop()
	require.Equal(t, percent, gcPercent())
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
}
