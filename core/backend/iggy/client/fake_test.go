package client

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a server that does with each request what its test says.
type fake struct {
	net.Listener
	handle handler

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	seen  []uint32 // commands
	all   sync.WaitGroup
}

// handler answers one request; what it does not know it leaves to the fake. When
// it returns false the connection is closed.
type handler func(f *fake, conn net.Conn, code uint32, body []byte) (handled, keep bool)

const (
	cmdPing, cmdClients, cmdLogin, cmdPoll, cmdSend = 1, 22, 38, 100, 101
	cmdTopics                                       = 301
)

func newFake(t *testing.T, h handler) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return newFakeOn(t, l, h)
}

func newFakeOn(t *testing.T, l net.Listener, h handler) *fake {
	f := &fake{Listener: l, handle: h, conns: map[net.Conn]struct{}{}}
	f.all.Go(f.accept)
	t.Cleanup(f.end)
	return f
}

func (f *fake) address() string { return f.Addr().String() }

func (f *fake) accept() {
	for {
		conn, err := f.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns[conn] = struct{}{}
		f.mu.Unlock()
		f.all.Go(func() { f.serve(conn) })
	}
}

// cut closes all connections.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		_ = conn.Close()
	}
}

func (f *fake) end() {
	_ = f.Close()
	f.cut()
	f.all.Wait()
}

func (f *fake) count(code uint32) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.seen {
		if c == code {
			n++
		}
	}
	return n
}

func (f *fake) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
	}()
	for {
		var header [headerBytes]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return
		}
		size, code := requestHeader(header[:])
		body := make([]byte, size-headerBytes)
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, code)
		f.mu.Unlock()
		handled, keep := false, true
		if f.handle != nil {
			handled, keep = f.handle(f, conn, code, body)
		}
		if !handled {
			f.usual(conn, code)
		}
		if !keep {
			return
		}
	}
}

// usual is what a healthy and empty server answers.
func (f *fake) usual(conn net.Conn, code uint32) {
	switch code {
	case cmdLogin:
		answer(conn, 0, []byte{1, 0, 0, 0})
	case codeMe:
		answer(conn, 0, entry(conn.RemoteAddr().String()))
	case cmdPoll:
		answer(conn, 0, make([]byte, 16))
	case cmdClients:
		answer(conn, 0, f.clients())
	default:
		answer(conn, 0, nil)
	}
}

func (f *fake) clients() (all []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		all = append(all, entry(conn.RemoteAddr().String())...)
	}
	return all
}

// entry describes a client.
func entry(address string) []byte {
	b := append(make([]byte, 8), 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(address)))
	b = append(b, address...)
	return append(b, 0, 0, 0, 0)
}

func reply(status uint32, body []byte) []byte {
	b := make([]byte, headerBytes, headerBytes+len(body))
	putHeader(b, status, uint32(len(body)))
	return append(b, body...)
}

func answer(conn net.Conn, status uint32, body []byte) { _, _ = conn.Write(reply(status, body)) }

// on answers one command with raw bytes, and then keeps the connection or not.
func on(code uint32, raw []byte, keep bool) handler {
	return func(_ *fake, conn net.Conn, c uint32, _ []byte) (bool, bool) {
		if c != code {
			return false, true
		}
		_, _ = conn.Write(raw)
		return true, keep
	}
}
