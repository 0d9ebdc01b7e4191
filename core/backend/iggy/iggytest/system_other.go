//go:build !linux

package iggytest

import (
	"errors"
	"os"
	"syscall"
)

// Iggy runs on Linux alone; elsewhere there is none to be found.
var errNotLinux = errors.New("iggytest: iggy-server runs on Linux only")

func endWithParent() *syscall.SysProcAttr { return nil }
func terminate(*os.Process) error         { return errNotLinux }
func pause(*os.Process) error             { return errNotLinux }
func resume(*os.Process) error            { return errNotLinux }
