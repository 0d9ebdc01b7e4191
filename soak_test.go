package gateway_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/clienttest/hostile"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// soakVar multiplies the number of requests of the soak tests: 100 makes them
// 10 million requests on one connection and 1 million Produces with acks=0. It multiplies the connections of
// some hostile tests, too: 400 makes them 10,000 with the largest frame each (20,000 open files), and 60,000 resets.
const soakVar = "KAFKA_GATEWAY_SOAK"

func soakFactor(t *testing.T) int {
	text := os.Getenv(soakVar)
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, soakVar)
	return n
}

// throughSoaked runs a test in the clear and, with a third of the requests, behind all
// that a listener can ask for. The store is on disk: records in memory would count.
func throughSoaked(t *testing.T, times int, test func(t *testing.T, conn *soaking, times int)) {
	gate := hostile.Open(t, func(c *app.Config) {
		c.Storage.Backend, c.Storage.Dir = "embedded", t.TempDir()
	})
	for _, door := range gate.Inner() {
		if door.Secured == door.Login {
			n := times * soakFactor(t)
			if door.Secured {
				n /= 3
			}
			t.Run(door.Name, func(t *testing.T) { test(t, soakConn(t, door), n) })
		}
	}
}

// TestSoakRequests sends many requests over one connection, pipelined: answers
// come in order, memory stays flat, goroutines return to their base.
func TestSoakRequests(t *testing.T) { throughSoaked(t, 100, soakRequests) }

func soakRequests(t *testing.T, conn *soaking, times int) {
	request := frame(18, 0, false, "")
	const batch = 1000
	var many []byte
	for range batch {
		many = append(many, request...)
	}
	first := exchangeOne(t, conn, request)
	flat(t, times, func() {
		sent := make(chan error, 1)
		go func() { _, err := conn.Write(many); sent <- err }()
		for range batch {
			size, err := io.ReadFull(conn.r, conn.buf[:len(first)])
			require.NoError(t, err)
			require.Equal(t, first, conn.buf[:size])
		}
		require.NoError(t, <-sent)
	})
}

// TestSoakSilence sends many Produce requests with acks=0, which are not
// answered; a Metadata request tells when they are done.
func TestSoakSilence(t *testing.T) { throughSoaked(t, 10, soakSilence) }

func soakSilence(t *testing.T, conn *soaking, times int) {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 4, 5000
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "soak", NumPartitions: 1, ReplicationFactor: 1}}
	exchangeOne(t, conn, kmsg.NewRequestFormatter().AppendRequest(nil, create, 1))
	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks, produce.TimeoutMillis = 7, 0, 5000
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "soak", Partitions: []kmsg.ProduceRequestTopicPartition{{
		Records: recordtest.Values("x").Bytes(),
	}}}}
	one := kmsg.NewRequestFormatter().AppendRequest(nil, produce, 1)
	const batch = 1000
	var many []byte
	for range batch {
		many = append(many, one...)
	}
	flat(t, times, func() {
		_, err := conn.Write(many)
		require.NoError(t, err)
		exchangeOne(t, conn, frame(18, 0, false, ""))
	})
}

type soaking struct {
	net.Conn
	r   *bufio.Reader
	buf []byte
}

func soakConn(t *testing.T, door hostile.Door) *soaking {
	c := enter(t, door)
	require.NoError(t, c.SetDeadline(time.Time{}))
	return &soaking{Conn: c, r: bufio.NewReader(c), buf: make([]byte, 4<<10)}
}

// exchangeOne sends one request and returns its answer, prefix included.
func exchangeOne(t *testing.T, c *soaking, request []byte) []byte {
	t.Helper()
	_, err := c.Write(request)
	require.NoError(t, err)
	head, err := c.r.Peek(4)
	require.NoError(t, err)
	out := make([]byte, 4+int(uint32(head[0])<<24|uint32(head[1])<<16|uint32(head[2])<<8|uint32(head[3])))
	_, err = io.ReadFull(c.r, out)
	require.NoError(t, err)
	return out
}

// flat runs a step many times and fails the test when the heap or the number of
// goroutines is higher at the end than after a tenth of the way.
func flat(t *testing.T, times int, step func()) {
	t.Helper()
	for range max(times/10, 1) {
		step()
	}
	base, goroutines := heap(), runtime.NumGoroutine()
	for range times {
		step()
	}
	require.Less(t, heap(), base+8<<20, "the heap grows")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, patience, 10*time.Millisecond,
		"goroutines are left behind")
}
