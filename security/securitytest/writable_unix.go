//go:build unix

package securitytest

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// writable tells whether a socket takes more bytes now.
func writable(raw syscall.RawConn) (can bool) {
	_ = raw.Control(func(fd uintptr) {
		ask := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(ask, 0)
		can = err != nil || n > 0
	})
	return can
}
