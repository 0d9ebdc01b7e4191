package gateway_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/clienttest/hostile"
)

// What costs a plain connection nothing must cost an encrypted one nothing, too, before the login and behind it. The
// server's own tests hold the same of connections in the clear, and the exact times.

// cheapest is the key exchange that computes least, for tests with very many connections to which any will do.
var cheapest = []tls.CurveID{tls.X25519}

// throughSASLSSL runs a test on both sides of the login of an encrypted listener.
func throughSASLSSL(t *testing.T, gate *hostile.Gate, test func(*testing.T, hostile.Door)) {
	t.Helper()
	gate.TLS.CurvePreferences = cheapest
	for _, door := range gate.Doors() {
		if door.Secured && door.Login {
			t.Run(door.Name, func(t *testing.T) {
				enter(t, door).Close() // what is made once is there
				test(t, door)
			})
		}
	}
}

// maxToken is the longest request before a login, in bytes, as it is unless the configuration says otherwise.
const maxToken = 64 << 10

// A length that is legal, and then nothing: no memory is kept for what does not come. The connection closes when the
// time for its first request is over, or the time for any request and a second more for each MiB.
func TestSilentPrefixes(t *testing.T) {
	const (
		clients = 64
		first   = 5 * time.Second
		each    = 2 * time.Second
		size    = 1 << 20
	)
	gate := hostile.Open(t, func(c *app.Config) { c.Server.FirstRequestTimeout, c.Server.ReadTimeout = first, each })
	throughSASLSSL(t, gate, func(t *testing.T, door hostile.Door) {
		prefix, limit := binary.BigEndian.AppendUint32(nil, size), each+time.Second
		if !door.In {
			prefix, limit = binary.BigEndian.AppendUint32(nil, maxToken), first
		}
		goroutines := runtime.NumGoroutine()
		var began [clients]time.Time
		var open atomic.Int64
		ends := make(chan end, clients)
		var all []net.Conn
		for i := range clients {
			began[i] = time.Now()
			c := enter(t, door)
			all = append(all, c)
			open.Add(1)
			go func() {
				got, err := io.ReadAll(c)
				open.Add(-1)
				ends <- end{i, len(got), err, time.Now()}
			}()
		}
		before := settled()
		for i, c := range all {
			if door.In {
				began[i] = time.Now()
			}
			_, err := c.Write(prefix)
			require.NoError(t, err)
		}
		most := before
		for open.Load() > 0 {
			most = max(most, heap())
		}
		t.Logf("%d bytes for each", (most-before)/clients)
		require.Less(t, most-before, int64(clients*32<<10), "memory for what has not come") // a buffer has 64 KiB, and what else runs takes some at times
		for range clients {
			e := <-ends
			require.NoError(t, e.err, "the end is told, and within %v", patience)
			require.Zero(t, e.bytes)
			require.GreaterOrEqual(t, e.at.Sub(began[e.of]), limit)
		}
		back(t, goroutines, before)
	})
}

// settled is the heap without what pools kept from before.
func settled() int64 {
	heap()
	return heap()
}

// end is how a connection ended.
type end struct {
	of, bytes int
	err       error
	at        time.Time
}

// back fails the test unless goroutines and memory return to what they were.
func back(t *testing.T, goroutines int, before int64) {
	t.Helper()
	within := func(ok func() bool, what string) { // no goroutine of the test's own, as require.Eventually has
		for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
			require.True(t, time.Now().Before(end), what)
		}
	}
	within(func() bool { return runtime.NumGoroutine() <= goroutines }, "goroutines are left")
	within(func() bool { return heap() < before+2<<20 }, "memory is left")
}

// idleSecured is what a connection may cost that has brought a large request, in bytes of both ends: crypto/tls keeps
// the room for one record.
const idleSecured = 64 << 10

// goroutineEach is what the runtime keeps for each goroutine there ever was at once, in bytes.
const goroutineEach = 512

// The largest request on each of many connections, which stay open: its memory is given back with the answer.
func TestLargestFramesOverTLS(t *testing.T) {
	const size = 2 << 20
	clients := 25 * soakFactor(t)
	gate := hostile.Open(t, func(c *app.Config) {
		c.Server.MaxConnections = 2*clients + 1000
		c.Server.MaxFrameSize, c.Server.RequestMemory, c.Server.MemoryBudget = size, size, 8*size
	})
	throughSASLSSL(t, gate, func(t *testing.T, door hostile.Door) {
		request := largestProduce(size)
		if !door.In { // of all that may be sent there, what tells most
			versions := kmsg.NewPtrApiVersionsRequest()
			versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "large", "1"
			versions.UnknownTags.Set(99, make([]byte, maxToken))
			request = framed(1, versions)
		}
		goroutines, base := runtime.NumGoroutine(), settled()
		t.Run("clients", func(t *testing.T) { // a test of its own keeps none of them
			var all []net.Conn
			for range clients {
				all = append(all, enter(t, door))
			}
			before := settled()
			for _, c := range all {
				_, err := c.Write(request)
				require.NoError(t, err)
				require.NotEmpty(t, readFrame(t, c))
			}
			var kept int64
			require.Eventually(t, func() bool { kept = heap() - before; return kept < int64(clients*idleSecured) }, patience, 50*time.Millisecond,
				"%d bytes of each request are kept", kept/int64(clients))
			t.Logf("%d bytes are kept by each", kept/int64(clients))
			runtime.KeepAlive(request) // it counts before and after
			for _, c := range all {
				c.Close()
			}
		})
		back(t, goroutines, base+int64(clients)*goroutineEach)
	})
}

// largestProduce is a Produce of size bytes to a topic that is not there.
func largestProduce(size int) []byte {
	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks, produce.TimeoutMillis = 9, -1, 1000
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "no/where", Partitions: []kmsg.ProduceRequestTopicPartition{{
		Records: make([]byte, size-100),
	}}}}
	return framed(1, produce)
}

// Requests whose numbers are all the same, by the thousand in one write: the answers come in order, and memory is flat.
// Before the login there is one answer, and the end, however many more there are.
func TestPipelinedOverTLS(t *testing.T) {
	const batch, batches = 500, 10
	gate := hostile.Open(t, nil)
	good, bad := frame(18, 0, false, ""), frame(18, 127, true, "")
	many := bytes.Repeat(append(good, bad...), batch)
	throughSASLSSL(t, gate, func(t *testing.T, door hostile.Door) {
		inside := enter(t, door.Inside())
		first := exchange(t, inside, good)
		both := append(first, exchange(t, inside, bad)...)
		got := make([]byte, len(both))
		goroutines, before := runtime.NumGoroutine(), settled()
		for range batches {
			c := inside
			if !door.In {
				c = enter(t, door)
			}
			sent := make(chan error, 1)
			go func() { _, err := c.Write(many); sent <- err }()
			if !door.In {
				all, _ := io.ReadAll(c) // the end may be a reset: what was sent was not read
				require.True(t, bytes.Equal(first, all) || len(all) == 0, "%d bytes", len(all))
				<-sent
				c.Close()
				continue
			}
			for range batch {
				_, err := io.ReadFull(c, got)
				require.NoError(t, err)
				require.True(t, bytes.Equal(both, got), "out of order")
			}
			require.NoError(t, <-sent)
		}
		back(t, goroutines, before)
		require.Equal(t, first, exchange(t, inside, good))
	})
}

// exchange sends a request and returns its answer, with its length.
func exchange(t *testing.T, c net.Conn, request []byte) []byte {
	t.Helper()
	_, err := c.Write(request)
	require.NoError(t, err)
	payload := readFrame(t, c)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// Half a request and a reset, again and again.
func TestResetsOverTLS(t *testing.T) {
	resets := 150 * soakFactor(t)
	gate := hostile.Open(t, nil)
	throughSASLSSL(t, gate, func(t *testing.T, door hostile.Door) {
		request := largestProduce(300 << 10)
		if !door.In {
			request = framed(1, &kmsg.SASLAuthenticateRequest{Version: 2, SASLAuthBytes: make([]byte, maxToken)})
		}
		goroutines, before := runtime.NumGoroutine(), settled()
		t.Run("clients", func(t *testing.T) {
			for i := range resets {
				c := enter(t, door)
				_, err := c.Write(request[:1+i*len(request)/resets/2])
				require.NoError(t, err)
				socket := c.(*tls.Conn).NetConn().(*net.TCPConn)
				if i%3 == 0 { // in the middle of a record
					_, err = socket.Write([]byte{0x17, 3, 3, 0x40, 0, 1, 2, 3})
					require.NoError(t, err)
				}
				require.NoError(t, socket.SetLinger(0))
				require.NoError(t, socket.Close())
			}
		})
		back(t, goroutines, before)
		served(t, door.Inside())
	})
}
