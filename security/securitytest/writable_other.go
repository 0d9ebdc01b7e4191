//go:build !unix

package securitytest

import "syscall"

// writable cannot be found out here; a connection is taken to be full.
func writable(syscall.RawConn) bool { return false }
