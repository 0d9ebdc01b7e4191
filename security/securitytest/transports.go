package securitytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
)

// Transported is a transport under test, and its clients.
type Transported struct {
	Transport server.Transport
	// Clients are clients that are let in; there is at least one.
	Clients []TransportClient
	// Strangers are clients that are refused.
	Strangers []TransportClient
	// Listens says that a client has to say something before it is let in.
	Listens bool
}

// TransportClient is the other end of a transport.
type TransportClient struct {
	Name string
	// Connect agrees with the transport at the other end of nc.
	Connect func(ctx context.Context, nc net.Conn) (net.Conn, error)
	// Principal is whom the transport has to take it for.
	Principal security.Principal
}

// patience bounds what has to happen at all; soon is for what must not take long.
const (
	patience = 30 * time.Second
	soon     = 5 * time.Second
)

// Transports is the conformance suite of server.Transport. open makes a transport
// for each test; the suite closes it. It counts goroutines: the test that calls it
// must not be parallel.
func Transports(t *testing.T, open func(t *testing.T) Transported) {
	alone(t)
	before := goleak.IgnoreCurrent()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Transported)
	}{
		{"principals", principals},
		{"strangers are refused", strangers},
		{"garbage is refused", garbage},
		{"a client that says nothing is given up", silent},
		{"large and small writes, both ways at once", bothWays},
		{"the client ends its half", halfClosed},
		{"the client is gone", gone},
		{"a read goes on after a deadline", readDeadline},
		{"a close ends a read", closeEndsRead},
		{"a close does not wait for a client that does not read", closeWhileFull},
		{"connections outlive the transport", outlive},
	} {
		t.Run(test.name, func(t *testing.T) {
			on := open(t)
			require.NotEmpty(t, on.Clients)
			test.run(t, on)
			require.NoError(t, on.Transport.Close())
			require.NoError(t, on.Transport.Close(), "a second Close does nothing")
			goleak.VerifyNone(t, before)
		})
	}
}

// alone ends a test that others run beside: their goroutines would be taken for
// those of what is tested.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("SECURITYTEST_ALONE", "true") // which panics in a parallel test
}

// pair returns the two ends of a TCP connection.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	server, err = ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}

// secured is a connection with both its ends, and the one below the server's.
type secured struct{ server, client, below net.Conn }

// secure connects a client.
func secure(t *testing.T, on Transported, c TransportClient) (secured, security.Principal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	below, raw := pair(t)
	connected := make(chan error, 1)
	s := secured{below: below}
	go func() {
		var err error
		s.client, err = c.Connect(ctx, raw)
		connected <- err
	}()
	var who security.Principal
	var err error
	s.server, who, err = on.Transport.Secure(ctx, below)
	require.NoError(t, err)
	require.NoError(t, <-connected)
	t.Cleanup(func() { s.server.Close(); s.client.Close() })
	return s, who
}

func principals(t *testing.T, on Transported) {
	for _, c := range on.Clients {
		s, who := secure(t, on, c)
		require.Equal(t, c.Principal, who, c.Name)
		require.NoError(t, s.server.Close())
		_, err := s.below.Write([]byte{0})
		require.ErrorIs(t, err, net.ErrClosed, "what is below is closed, too")
		require.NoError(t, s.client.SetReadDeadline(time.Now().Add(patience)))
		_, err = io.ReadAll(s.client)
		require.NoError(t, err, "the client is told of the end")
		s.client.Close()
	}
}

// refused connects and returns why the transport did not let the client in.
func refused(t *testing.T, on Transported, within time.Duration, client func(ctx context.Context, raw net.Conn)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	below, raw := pair(t)
	var clients sync.WaitGroup
	clients.Go(func() { client(ctx, raw) })
	began := time.Now()
	secured, who, err := on.Transport.Secure(ctx, below)
	require.Error(t, err)
	require.Nil(t, secured)
	require.Equal(t, security.Anonymous, who)
	require.Less(t, time.Since(began), within+soon)
	below.Close()
	raw.Close()
	clients.Wait()
	return err
}

func strangers(t *testing.T, on Transported) {
	for _, c := range on.Strangers {
		err := refused(t, on, patience, func(ctx context.Context, raw net.Conn) {
			nc, err := c.Connect(ctx, raw)
			if err != nil {
				raw.Close()
				return
			}
			_, _ = io.ReadAll(nc) // a client may hear of a refusal only now
		})
		require.NotErrorIs(t, err, context.DeadlineExceeded, c.Name)
	}
}

func garbage(t *testing.T, on Transported) {
	if !on.Listens {
		return
	}
	for _, bytes := range []string{
		"GET / HTTP/1.1\r\n\r\n",
		"\x00\x00\x00\x10\x00\x12\x00\x03\x00\x00\x00\x01\x00\x01c\x00\x01a\x01b\x00", // ApiVersions in the clear
		"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",                                    // a hello without anything
		"\x16\x03\x01\xff\xff",
		"\x15\x03\x01\x00\x02\x02\x28",
	} {
		refused(t, on, patience, func(_ context.Context, raw net.Conn) {
			_, _ = raw.Write([]byte(bytes))
			_ = raw.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, raw)
		})
	}
}

func silent(t *testing.T, on Transported) {
	if !on.Listens {
		return
	}
	for _, begin := range []string{"", "\x16\x03\x01\x02\x00\x01\x00"} {
		err := refused(t, on, 100*time.Millisecond, func(_ context.Context, raw net.Conn) {
			_, _ = raw.Write([]byte(begin))
			_, _ = io.Copy(io.Discard, raw)
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	refused(t, on, patience, func(_ context.Context, raw net.Conn) { raw.Close() })
}

func bothWays(t *testing.T, on Transported) {
	s, _ := secure(t, on, on.Clients[0])
	deadline := time.Now().Add(patience)
	require.NoError(t, s.below.SetDeadline(deadline))
	require.NoError(t, s.client.SetDeadline(deadline))
	sizes := []int{1, 5, 100, 16 << 10, 16<<10 + 1, 3, 1 << 20, 40_000, 1, 5 << 20, 17}
	var all []byte
	for i, size := range sizes {
		all = append(all, bytes.Repeat([]byte{byte(i + 1)}, size)...)
	}
	send := func(nc net.Conn) error {
		sent := 0
		for _, size := range sizes {
			n, err := nc.Write(all[sent : sent+size])
			if err != nil {
				return err
			}
			if n != size {
				return io.ErrShortWrite
			}
			sent += size
		}
		return nil
	}
	receive := func(nc net.Conn) error {
		got := make([]byte, len(all))
		if _, err := io.ReadFull(nc, got); err != nil {
			return err
		}
		if !bytes.Equal(all, got) {
			return errors.New("other bytes arrived")
		}
		return nil
	}
	results := make(chan error, 4)
	for _, work := range []func() error{
		func() error { return send(s.server) }, func() error { return receive(s.server) },
		func() error { return send(s.client) }, func() error { return receive(s.client) },
	} {
		go func() { results <- work() }()
	}
	for range cap(results) {
		require.NoError(t, <-results)
	}
}

func halfClosed(t *testing.T, on Transported) {
	s, _ := secure(t, on, on.Clients[0])
	_, err := s.client.Write([]byte("question"))
	require.NoError(t, err)
	half, can := s.client.(interface{ CloseWrite() error })
	require.True(t, can, "a client of a transport can end its half")
	require.NoError(t, half.CloseWrite())
	require.NoError(t, s.below.SetReadDeadline(time.Now().Add(patience)))
	got, err := io.ReadAll(s.server)
	require.NoError(t, err)
	require.Equal(t, "question", string(got))
	_, err = s.server.Write([]byte("answer"))
	require.NoError(t, err)
	require.NoError(t, s.client.SetReadDeadline(time.Now().Add(patience)))
	answer := make([]byte, len("answer"))
	_, err = io.ReadFull(s.client, answer)
	require.NoError(t, err)
	require.Equal(t, "answer", string(answer))
}

func gone(t *testing.T, on Transported) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	below, raw := pair(t)
	go func() {
		_, err := on.Clients[0].Connect(ctx, raw)
		if err == nil {
			_ = raw.(*net.TCPConn).SetLinger(0)
			raw.Close()
		}
	}()
	nc, _, err := on.Transport.Secure(ctx, below)
	if err != nil {
		return // it was gone before the end of the handshake
	}
	defer nc.Close()
	require.NoError(t, below.SetReadDeadline(time.Now().Add(patience)))
	_, err = nc.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func readDeadline(t *testing.T, on Transported) {
	s, _ := secure(t, on, on.Clients[0])
	one := make([]byte, 1)
	for _, want := range []byte("abc") {
		require.NoError(t, s.below.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		n, err := s.server.Read(one)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Zero(t, n)
		require.NoError(t, s.below.SetReadDeadline(time.Now().Add(patience)))
		_, err = s.client.Write([]byte{want})
		require.NoError(t, err)
		_, err = io.ReadFull(s.server, one)
		require.NoError(t, err)
		require.Equal(t, want, one[0])
	}
}

func closeEndsRead(t *testing.T, on Transported) {
	s, _ := secure(t, on, on.Clients[0])
	ended := make(chan error, 1)
	go func() {
		_, err := s.server.Read(make([]byte, 1))
		ended <- err
	}()
	_, err := s.server.Write([]byte("x")) // a write does not disturb the read
	require.NoError(t, err)
	s.server.Close()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(patience):
		require.Fail(t, "the read goes on")
	}
}

// closeWhileFull closes a connection that is full, with a write under way and
// without one.
func closeWhileFull(t *testing.T, on Transported) {
	for _, writing := range []bool{true, false} {
		s, _ := secure(t, on, on.Clients[0])
		if !writing {
			require.NoError(t, s.below.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
		}
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := s.server.Write(make([]byte, 256<<10)); err != nil {
					ended <- err
					return
				}
			}
		}()
		if writing {
			require.Eventually(t, func() bool { return full(s.below) }, patience, 10*time.Millisecond)
		} else {
			require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
			require.NoError(t, s.below.SetWriteDeadline(time.Time{}))
		}
		began := time.Now()
		s.server.Close()
		require.Less(t, time.Since(began), soon)
		if writing {
			require.Error(t, <-ended)
		}
	}
}

// full tells whether nothing more can be written to a connection now.
func full(nc net.Conn) bool {
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	return !writable(raw)
}

func outlive(t *testing.T, on Transported) {
	s, _ := secure(t, on, on.Clients[0])
	require.NoError(t, on.Transport.Close())
	_, err := s.server.Write([]byte("still here"))
	require.NoError(t, err)
	require.NoError(t, s.client.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, len("still here"))
	_, err = io.ReadFull(s.client, got)
	require.NoError(t, err)
}
