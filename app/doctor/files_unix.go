//go:build unix

package doctor

import "golang.org/x/sys/unix"

// openFiles returns how many files a process that is started like this one may
// open.
func openFiles() (n uint64, known bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	// A Go program raises its own limit to the hard one when it starts.
	return limit.Max, true
}
