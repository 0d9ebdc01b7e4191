package iggytest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// pauseTimeout is how long all threads of a server may take to stop.
	pauseTimeout = 30 * time.Second
	pausePoll    = time.Millisecond
)

// endWithParent has the kernel end a program together with the thread that
// started it.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// terminate asks for an orderly end, also of a server that is paused.
func terminate(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Signal(syscall.SIGCONT)
}

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// pause returns when every thread has stopped.
func pause(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(pauseTimeout); time.Now().Before(end); time.Sleep(pausePoll) {
		if stopped(p.Pid) {
			return nil
		}
	}
	return fmt.Errorf("iggytest: process %d does not stop", p.Pid)
}

// stopped says whether all threads of a process are in state T. A thread that
// waits in the kernel and has yet to see the signal runs nothing of its own, but
// then it is not yet stopped either.
func stopped(pid int) bool {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		// The state is the letter after the name, which is in brackets.
		at := bytes.LastIndexByte(stat, ')') + 2
		if err != nil || at >= len(stat) || stat[at] != 'T' {
			return false
		}
	}
	return true
}
