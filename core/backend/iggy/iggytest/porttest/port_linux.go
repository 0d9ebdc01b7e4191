package porttest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const soReusePort = 0xf

// Port is a port that is ours also while no server listens there.
type Port struct {
	// Address is host:port.
	Address string
	socket  int
}

// Reserve binds a socket to a free port and never listens on it: who shares the
// port openly, as Iggy does, can still bind to it, and the kernel gives it to
// nobody else.
func Reserve() (*Port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &Port{socket: socket}
	if p.Address, err = bind(socket); err != nil {
		p.Release()
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
		return "", fmt.Errorf("porttest: unexpected address %T", at)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(inet.Port)), nil
}

// Listen listens on the port.
func (p *Port) Listen() (net.Listener, error) {
	share := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var failed error
		err := conn.Control(func(socket uintptr) {
			failed = syscall.SetsockoptInt(int(socket), syscall.SOL_SOCKET, soReusePort, 1)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	return share.Listen(context.Background(), "tcp", p.Address)
}

// Release gives the port back.
func (p *Port) Release() { _ = syscall.Close(p.socket) }
