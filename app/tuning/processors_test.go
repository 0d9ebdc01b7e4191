package tuning

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The number is set again when the limits have changed, and only then.
func TestLimitsAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Value
		var looks, changes atomic.Int64
		now.Store("200000 100000")
		stop := follow(func() string { looks.Add(1); return now.Load().(string) }, func() { changes.Add(1) })
		turn := func() {
			time.Sleep(lookEvery) // of the bubble
			synctest.Wait()
		}
		for range 3 {
			turn()
		}
		require.EqualValues(t, 4, looks.Load())
		require.Zero(t, changes.Load())
		now.Store("400000 100000")
		turn()
		turn()
		require.EqualValues(t, 1, changes.Load())
		now.Store("200000 100000")
		turn()
		require.EqualValues(t, 2, changes.Load())
		stop()
		now.Store("")
		turn()
		require.EqualValues(t, 2, changes.Load(), "nobody follows any more")
	})
}

// What changes a limit changes the text, and other things do not.
func TestLimits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.Empty(t, limits(root))
	before := ""
	set := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	changes := func(name, text string, want bool) {
		t.Helper()
		set(name, text)
		now := limits(root)
		require.Equal(t, want, now != before, "%s: %s", name, text)
		before = now
	}
	changes("proc/self/status", "Name:\tgateway\nVmRSS:\t1 kB\nCpus_allowed:\tff\n", true)
	changes("proc/self/status", "Name:\tgateway\nVmRSS:\t2 kB\nCpus_allowed:\tff\n", false)
	changes("proc/self/status", "Name:\tgateway\nVmRSS:\t2 kB\nCpus_allowed:\t0f\n", true)
	set("sys/fs/cgroup/gateway.slice/cpu.max", "max 100000\n")
	changes("proc/self/cgroup", "0::/gateway.slice\n", true) // version 2
	changes("sys/fs/cgroup/gateway.slice/cpu.max", "max 100000\n", false)
	changes("sys/fs/cgroup/gateway.slice/cpu.max", "150000 100000\n", true)
	changes("sys/fs/cgroup/another.slice/cpu.max", "150000 100000\n", false)
	changes("sys/fs/cgroup/cpu.max", "100000 100000\n", true) // as a container sees its own
	changes("proc/self/cgroup", "12:pids:/a\n5:cpuacct,cpu:/docker/1\n1:name=systemd:/docker/1\nnonsense\n", true)
	changes("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n", true) // version 1
	changes("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n", true)
	changes("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n", true)
	changes("sys/fs/cgroup/pids/a/cpu.cfs_quota_us", "1\n", false)
}

// There is one place to spare, and at the end Go's own number again.
func TestProcessors(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS() // the environment of the test may have another
	procs := runtime.GOMAXPROCS(0)
	undo := processors()
	require.Equal(t, procs+1, runtime.GOMAXPROCS(0))
	undo()
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	t.Setenv("GODEBUG", "updatemaxprocs=0")
	undo = processors()
	require.Equal(t, procs+1, runtime.GOMAXPROCS(0))
	undo()
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
}
