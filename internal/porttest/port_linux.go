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

// Reserve binds a socket to a free port and never listens on it: who asks for that
// port and shares it openly, as Iggy does, or says that it may be in use, as Go and Java
// do, can still bind to it, and the kernel gives it to nobody who takes any.
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
	for _, option := range []int{soReusePort, syscall.SO_REUSEADDR} {
		if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, option, 1); err != nil {
			return "", err
		}
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

// Listen listens on the port, until the listener is closed.
func (p *Port) Listen() (net.Listener, error) {
	share := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		return control(conn, func(socket int) error {
			return syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, soReusePort, 1)
		})
	}}
	l, err := share.Listen(context.Background(), "tcp", p.Address)
	if err != nil {
		return nil, err
	}
	return &listener{l.(*net.TCPListener)}, nil
}

// listener is one that surely no longer listens when it is closed. A process that
// is started at that moment has a copy of the socket until it runs its program,
// and the kernel would give that copy connections meant for the next listener.
type listener struct{ *net.TCPListener }

func (l *listener) Close() error {
	if conn, err := l.SyscallConn(); err == nil {
		_ = control(conn, func(socket int) error { return syscall.Shutdown(socket, syscall.SHUT_RD) })
	}
	return l.TCPListener.Close()
}

// control runs do with the socket of conn.
func control(conn syscall.RawConn, do func(socket int) error) error {
	var failed error
	if err := conn.Control(func(socket uintptr) { failed = do(int(socket)) }); err != nil {
		return err
	}
	return failed
}

// Release gives the port back.
func (p *Port) Release() { _ = syscall.Close(p.socket) }
