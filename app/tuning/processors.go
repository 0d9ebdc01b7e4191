package tuning

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// lookEvery is the time between two looks at what the number of processors depends on.
const lookEvery = 30 * time.Second

// processors lets one goroutine more run than there are processors. The runtime looks
// for what has come from the network when it finds nothing else to run, else only
// every 10 ms. With one place to spare some thread waits for the network all the time, and
// the kernel gives it a processor at once, however long others compute.
//
// Go follows the limits of a container and the processors that a process may use while
// it runs, until somebody sets a number. So they are followed here instead, unless
// GODEBUG says updatemaxprocs=0, with which Go does not follow them either.
func processors() (undo func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	spare := func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }
	spare()
	stop := func() {}
	if !strings.Contains(os.Getenv("GODEBUG"), "updatemaxprocs=0") {
		stop = follow(func() string { return limits("/") }, func() {
			runtime.SetDefaultGOMAXPROCS()
			spare()
		})
	}
	return func() {
		stop()
		runtime.SetDefaultGOMAXPROCS()
	}
}

// follow calls changed after each look that finds another text than the one before,
// until the returned function is called. To set the number of processors stops the
// world, and only the runtime knows what Go's default is now, which it does not tell
// without setting it: hence a look at what that depends on.
func follow(look func() string, changed func()) (stop func()) {
	before := look()
	return every(lookEvery, func() {
		if now := look(); now != before {
			before = now
			changed()
		}
	})
}

// limits returns, as text to compare with other such text, what Go's default number of
// processors depends on: the processors that the process may use, and how much of them
// its control group may, as version 1 and 2 write it. It is "" where there are no such
// files, as outside of Linux. root is where the file system begins.
func limits(root string) string {
	var text strings.Builder
	for line := range strings.Lines(read(root, "proc/self/status")) {
		if strings.HasPrefix(line, "Cpus_allowed:") {
			text.WriteString(line)
		}
	}
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		group := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(group) != 3 {
			continue
		}
		// A container may see its own group as the only one there is, whatever its path says.
		for _, at := range []string{group[2], "/"} {
			switch {
			case group[1] == "":
				text.WriteString(read(root, "sys/fs/cgroup", path.Clean(at), "cpu.max"))
			case slices.Contains(strings.Split(group[1], ","), "cpu"):
				text.WriteString(read(root, "sys/fs/cgroup/cpu", path.Clean(at), "cpu.cfs_quota_us"))
				text.WriteString(read(root, "sys/fs/cgroup/cpu", path.Clean(at), "cpu.cfs_period_us"))
			}
		}
	}
	return text.String()
}

// read returns the content of a file, "" where there is none.
func read(name ...string) string {
	content, err := os.ReadFile(filepath.Join(name...)) // #nosec G304 -- the kernel names it
	if err != nil {
		return ""
	}
	return string(content)
}
