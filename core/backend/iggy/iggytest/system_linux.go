package iggytest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	soReusePort = 0xf
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

// port is a port of 127.0.0.1 that is ours also while no server listens there.
type port struct {
	address string
	socket  int
}

// reservePort binds a socket to a free port and never listens on it: who shares
// the port openly, as Iggy does, can still bind to it, and the kernel gives it to
// nobody else.
func reservePort() (*port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &port{socket: socket}
	if p.address, err = bind(socket); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

func bind(socket int) (string, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		return "", err
	}
	inet, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("iggytest: unexpected address %T", at)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(inet.Port)), nil
}

func (p *port) release() { _ = syscall.Close(p.socket) }
