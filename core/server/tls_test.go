package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// overTLS is crypto/tls and nothing else, with a certificate of its own.
type overTLS struct{ config *tls.Config }

func newTLS(t testing.TB) overTLS {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gateway"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return overTLS{&tls.Config{
		Certificates:                []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		DynamicRecordSizingDisabled: true,
	}}
}

func (o overTLS) protocol() Option {
	return WithProtocols(Protocol{Name: "TLS", Open: func(ListenerConfig) (Transport, error) { return o, nil }})
}

func (o overTLS) Secure(ctx context.Context, nc net.Conn) (net.Conn, security.Principal, error) {
	secured := tls.Server(nc, o.config)
	return secured, security.Anonymous, secured.HandshakeContext(ctx)
}

func (overTLS) Close() error { return nil }

func byTLS(c *Config) { c.Protocol = "TLS" }

// dialTLS connects by TLS.
func (r *running) dialTLS() *client {
	r.t.Helper()
	c := r.dial()
	c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true}) // whoever it is: the test's own
	return c
}

// counting counts what is written to the connections of a listener.
type counting struct {
	net.Listener
	writes *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	return countingConn{nc, l.writes}, err
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// The records of a large answer are put together: each write costs a system call,
// and wakes the client up.
func TestRecordsArePutTogether(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	records := make([]byte, size)
	_, err := rand.Read(records)
	require.NoError(t, err)
	fetch := dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil })
	r := buildWith(t, []Option{newTLS(t).protocol()}, byTLS, fetch, dispatchtest.Heartbeat(nil))
	var writes atomic.Int64
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.serveFrom(counting{ln, &writes})
	defer func() { require.NoError(t, r.Stop(context.Background())) }()
	c := r.dialTLS()
	c.ask(quick(0), 4)
	before := writes.Load()
	c.ask(quick(0), 4)
	require.EqualValues(t, 1, writes.Load()-before, "a small answer")
	before = writes.Load()
	got := c.ask(kmsg.NewPtrFetchRequest(), 11).(*kmsg.FetchResponse)
	require.True(t, bytes.Equal(records, got.Topics[0].Partitions[0].RecordBatches))
	require.LessOrEqual(t, writes.Load()-before, int64(size/bulkSize+2))
}

// E10 turned round: who does not speak TLS where it is spoken is closed at once. So
// is who sends what is no record.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	a := newRefusals()
	r := startWith(t, []Option{newTLS(t).protocol(), WithAudit(a)}, byTLS, dispatchtest.Heartbeat(nil))
	for i, b := range [][]byte{
		frame(quick(0), 4, 1),
		[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		{0x16, 0x03, 0x01, 0x00, 0x05, 0xff, 0xff, 0xff, 0xff, 0xff},
		bytes.Repeat([]byte{0xff}, 1000),
		{0x16, 0x03, 0x01, 0x48, 0x01},
	} {
		c := r.dial()
		c.sendRaw(b)
		io.Copy(io.Discard, c) // an alert, or nothing
		r.closed("handshake", i+1)
		require.Contains(t, <-a.told, "no agreement on how to secure the connection")
	}
	r.dialTLS().ask(quick(0), 4)
}

// Frames of every size over TLS, both ways, with limits below the transport's.
func TestFramesOverTLS(t *testing.T) {
	t.Parallel()
	records := []byte(nil)
	fetch := dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil })
	r := startWith(t, []Option{newTLS(t).protocol()}, byTLS, fetch, dispatchtest.Produce())
	c := r.dialTLS()
	for _, size := range []int{0, 1, 2000, oneRecord - 100, oneRecord, 2 * oneRecord, 3 * oneRecord, bulkSize, bulkSize + 1, 3 << 20} {
		records = bytes.Repeat([]byte{7}, size)
		require.Len(t, c.ask(kmsg.NewPtrFetchRequest(), 11).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches, size)
		got := c.ask(produceOf(size), 9).(*kmsg.ProduceResponse)
		require.EqualValues(t, size, got.Topics[0].Partitions[0].BaseOffset)
	}
	require.Empty(t, r.bulk.taken, "all buffers are back")
	// Requests in a row, the next one's bytes behind those of the last one.
	go c.Write(bytes.Repeat(frame(produceOf(100_001), 9, c.next), 50))
	for range 50 {
		require.EqualValues(t, 100_001, c.answer(kmsg.NewPtrProduceRequest(), 9).(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset)
	}
	// And without any buffer.
	for range bulkBuffers {
		r.bulk.taken <- struct{}{}
	}
	records = make([]byte, 3<<20)
	require.Len(t, c.ask(kmsg.NewPtrFetchRequest(), 11).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches, 3<<20)
	c.ask(produceOf(3<<20), 9)
	require.NoError(t, r.Stop(context.Background()))
	_, err := c.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err, "the end is told")
}

func benchmarkTLS(b *testing.B, size int, secured bool, request []byte, handlers ...handler.Handler) {
	r := startWith(b, []Option{newTLS(b).protocol()}, func(c *Config) {
		if secured {
			byTLS(c)
		}
	}, handlers...)
	c := r.dial()
	if secured {
		c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
	}
	require.NoError(b, c.SetDeadline(time.Time{}))
	answer := make([]byte, 64<<10)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		c.sendRaw(request)
		_, err := io.ReadFull(c, answer[:4])
		require.NoError(b, err)
		for left := int(binary.BigEndian.Uint32(answer)); left > 0; {
			n, err := c.Read(answer[:min(left, len(answer))])
			require.NoError(b, err)
			left -= n
		}
	}
}

func BenchmarkTransport(b *testing.B) {
	records := make([]byte, 1<<20)
	fetch := dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil })
	for name, secured := range map[string]bool{"plain": false, "tls": true} {
		b.Run("fetch1MiB/"+name, func(b *testing.B) {
			benchmarkTLS(b, 1<<20, secured, frame(kmsg.NewPtrFetchRequest(), 11, 1), fetch)
		})
		b.Run("produce1MiB/"+name, func(b *testing.B) {
			benchmarkTLS(b, 1<<20, secured, frame(produceOf(1<<20), 9, 1), dispatchtest.Produce())
		})
		b.Run("heartbeat/"+name, func(b *testing.B) {
			benchmarkTLS(b, 1, secured, frame(quick(0), 4, 1), dispatchtest.Heartbeat(nil))
		})
	}
}
