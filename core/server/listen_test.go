package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
)

// The node knows its address before the first client can ask for it.
func TestStartAdvertises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, advertise string
		host              string
		port              int // 0: the port that was got
	}{
		{"127.0.0.1:0", "", "127.0.0.1", 0},
		{"127.0.0.1:0", "kafka.example.com", "kafka.example.com", 0},
		{"127.0.0.1:0", "kafka.example.com:29092", "kafka.example.com", 29092},
		{"0.0.0.0:0", "[2001:db8::1]:29092", "2001:db8::1", 29092},
		{"0.0.0.0:0", "[2001:db8::1]", "2001:db8::1", 0},
		{":0", "2001:db8::1", "2001:db8::1", 0},
	} {
		t.Run(c.listen+" "+c.advertise, func(t *testing.T) {
			t.Parallel()
			r := start(t, func(cfg *Config) { cfg.Listen, cfg.Advertise = c.listen, c.advertise }, dispatchtest.Heartbeat(nil))
			got := r.Addr().(*net.TCPAddr).Port
			require.NotZero(t, got)
			if c.port == 0 {
				c.port = got
			}
			host, port := r.node.Address()
			require.Equal(t, c.host, host)
			require.EqualValues(t, c.port, port)
			r.dial().ask(quick(0), 4)
		})
	}
}

// A port in use says so, and what to do.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken := start(t, nil)
	r := build(t, func(c *Config) { c.Listen = taken.Addr().String() })
	require.Nil(t, r.Addr())
	err := r.Start(context.Background())
	require.ErrorContains(t, err, "listen: "+taken.Addr().String()+" is in use")
	require.ErrorContains(t, err, "set listen to another port")
	require.NoError(t, r.Stop(context.Background()))

	r = build(t, func(c *Config) { c.Listen = "192.0.2.1:0" })
	require.ErrorContains(t, r.Start(context.Background()), "does not have the address of 192.0.2.1:0")
}

func TestKafkaHost(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"10.0.0.7": "/10.0.0.7", "::ffff:10.0.0.7": "/10.0.0.7",
		"::1": "/0:0:0:0:0:0:0:1", "2001:db8::ff00:42:8329": "/2001:db8:0:0:0:ff00:42:8329",
	} {
		require.Equal(t, want, kafkaHost(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}))
	}
}

// failing is a listener that fails some times, as when files run out.
type failing struct {
	pipeListener
	failures int
	calls    []time.Time
}

func (l *failing) Accept() (net.Conn, error) {
	if l.calls = append(l.calls, time.Now()); len(l.calls) <= l.failures {
		return nil, errors.New("too many open files")
	}
	return l.pipeListener.Accept()
}

// Accept errors are told once, and tried again after ever longer pauses.
func TestAcceptBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := build(t, nil, dispatchtest.Heartbeat(nil))
		l := &failing{failures: 12, pipeListener: pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}}
		r.serveFrom(l)
		near, far := net.Pipe()
		l.conns <- far
		(&client{Conn: near, t: t}).ask(quick(0), 4)
		require.Equal(t, 1, r.logs.FilterMessageSnippet("ulimit").Len())
		synctest.Wait()
		require.Len(t, l.calls, 14)
		ms := time.Millisecond
		for i, want := range []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1000 * ms, 1000 * ms} {
			require.Equal(t, want, l.calls[i+1].Sub(l.calls[i]))
		}
		require.NoError(t, r.Stop(context.Background()))
	})
	// Stop does not wait for a pause to end.
	synctest.Test(t, func(t *testing.T) {
		r := build(t, nil)
		r.serveFrom(&failing{failures: 1 << 30, pipeListener: pipeListener{closed: make(chan struct{})}})
		time.Sleep(10*time.Second + time.Millisecond)
		began := time.Now()
		require.NoError(t, r.Stop(context.Background()))
		require.Equal(t, began, time.Now())
	})
}
