package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the other end of a connection has gone away, or sends no more,
// whatever is left to read of it.
func hungUp(nc net.Conn) (gone bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} // #nosec G115 -- a descriptor
		_, err := unix.Poll(p, 0)
		gone = err == nil && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil // which says that it is closed here
}
