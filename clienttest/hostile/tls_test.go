package hostile

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/internal/rawclient"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// secured returns the inner doors that have TLS.
func (g *Gate) secured() (all []Door) {
	for _, d := range g.Inner() {
		if d.Secured {
			all = append(all, d)
		}
	}
	return all
}

// hello is the first message of a handshake.
func hello(t *testing.T, d Door) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	first := make(chan []byte, 1)
	go func() {
		defer far.Close()
		b := make([]byte, 16<<10)
		n, _ := far.Read(b)
		first <- b[:n]
	}()
	require.Error(t, tls.Client(near, d.gate.TLS).Handshake())
	return <-first
}

// closes waits for the end of a connection, which the gateway has to cause.
func closes(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection stays open")
}

// A hello whose bytes come one by one has the same time as one that does not come: each byte buys none.
func TestSlowHello(t *testing.T) {
	const limit = 2 * time.Second
	gate := Open(t, func(c *app.Config) { c.Server.FirstRequestTimeout = limit })
	for _, door := range gate.secured() {
		t.Run(door.Name, func(t *testing.T) {
			t.Parallel()
			message := hello(t, door)
			c, err := net.Dial("tcp", door.Addr())
			require.NoError(t, err)
			defer c.Close()
			began := time.Now()
			for i := 0; time.Since(began) < patience; i++ {
				if _, err = c.Write(message[i : i+1]); err != nil {
					break
				}
				time.Sleep(50 * time.Millisecond) // the client's pace: it is what is tested
			}
			require.Error(t, err, "the connection stays open")
			require.GreaterOrEqual(t, time.Since(began), limit-100*time.Millisecond)
		})
	}
}

// Records without content, and such as have no end, are no way to keep a connection busy.
func TestEmptyRecords(t *testing.T) {
	t.Parallel()
	gate := Open(t, nil)
	for name, record := range map[string][]byte{
		"handshake": {0x16, 3, 1, 0, 0}, "alert": {0x15, 3, 1, 0, 0}, "data": {0x17, 3, 3, 0, 0}, "change of ciphers": {0x14, 3, 3, 0, 1, 1},
		"warning": {0x15, 3, 1, 0, 2, 1, 90},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", gate.secured()[0].Addr())
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
			_, _ = c.Write(bytes.Repeat(record, 1000)) // it may be closed by then
			closes(t, c)
		})
	}
}

// tiny writes each byte as a record of its own.
type tiny struct{ net.Conn }

func (c tiny) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// Many tiny records are slow, and right.
func TestTinyRecords(t *testing.T) {
	t.Parallel()
	gate := Open(t, nil)
	for _, door := range gate.secured() {
		c, err := door.Dial()
		require.NoError(t, err)
		defer c.Close()
		client := rawclient.New(tiny{c}, "tiny")
		for range 20 {
			_, err := client.Call(kmsg.NewPtrMetadataRequest())
			require.NoError(t, err)
		}
	}
}

// Clients that leave in the middle of a handshake, or right after it, by TLS, by TCP or by a reset, leave nothing behind.
func TestEarlyEnds(t *testing.T) {
	gate := Open(t, nil)
	for _, door := range gate.secured() {
		message := hello(t, door)
		door.In = door.In && !door.Login // do not log in
		goroutines := runtime.NumGoroutine()
		for i := range 200 {
			c, err := net.Dial("tcp", door.Addr())
			require.NoError(t, err)
			switch i % 4 {
			case 0:
				_, err = c.Write(message[:i%len(message)])
			case 1:
				_, err = c.Write(message)
				require.NoError(t, c.(*net.TCPConn).SetLinger(0))
			case 2:
				secured := tls.Client(c, gate.TLS)
				require.NoError(t, secured.Handshake())
				err = secured.CloseWrite()
			case 3:
				secured := tls.Client(c, gate.TLS)
				require.NoError(t, secured.Handshake())
				_, err = secured.Write([]byte{0, 0, 0, 20, 0, 18})
				require.NoError(t, c.(*net.TCPConn).SetLinger(0))
			}
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
		eventually(t, func() bool { return measured(t, gate, "connections") == 0 }, "all connections have ended")
		eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, "goroutines are back at their base")
	}
}

// A chain of certificates that has no end is refused before it takes memory.
func TestHugeClientCertificates(t *testing.T) {
	ca := ssltest.NewAuthority(t)
	files := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	trusted := ca.Write(t, t.TempDir())
	var addr string
	gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.TLS.Certificate, c.TLS.Key = files.Certificate, files.Key }),
		gatewaytest.Listener("mutual", server.ListenerConfig{Protocol: "SSL", ClientCA: trusted, ClientAuth: "required"}, &addr))
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		pair := ca.Issue(t, ssltest.Client("alice")).Pair(t)
		call := func() error {
			c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", MaxVersion: version, Certificates: []tls.Certificate{pair}})
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
				return err
			}
			_, err = rawclient.New(c, "mutual").Call(kmsg.NewPtrApiVersionsRequest())
			return err
		}
		require.NoError(t, call())
		leaf := pair.Certificate[0]
		for range 4000 { // megabytes
			pair.Certificate = append(pair.Certificate, leaf)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			err := call()
			require.Error(t, err)
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the connection stays open")
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(8<<20))
	}
}
