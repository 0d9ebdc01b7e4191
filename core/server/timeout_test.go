package server

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// The tests of this file run on a clock of their own: what takes minutes takes
// no time, and every moment is exact.

// closedAfter waits until the server closes, and returns when that was.
func (c *client) closedAfter() time.Duration {
	c.t.Helper()
	began := time.Now()
	n, err := io.Copy(io.Discard, c)
	require.NoError(c.t, err)
	require.Zero(c.t, n)
	return time.Since(began)
}

// A client that says nothing, or says it too slowly.
func TestFirstRequestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(nil))
		require.Equal(t, 30*time.Second, r.pipe().closedAfter())
		r.closed("first_request_timeout", 1)

		slow := r.pipe()
		trickled := slow.trickle(frame(kmsg.NewPtrHeartbeatRequest(), 4, 1), 8*time.Second)
		require.Equal(t, 30*time.Second, slow.closedAfter())
		r.closed("first_request_timeout", 2)
		require.Equal(t, 4, <-trickled)

		large := r.pipe() // a longer request gets no longer time
		go large.Write(append(binary.BigEndian.AppendUint32(nil, 100<<20), make([]byte, 1<<20)...))
		require.Equal(t, 30*time.Second, large.closedAfter())
		r.closed("first_request_timeout", 3)
	})
}

// The idle time counts from the last answer, however many deadlines passed.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(nil))
		c := r.pipe()
		for range 5 {
			c.ask(kmsg.NewPtrHeartbeatRequest(), 4)
			time.Sleep(7 * time.Minute)
		}
		require.Equal(t, 3*time.Minute, c.closedAfter())
		r.closed("idle_timeout", 1)
	})
}

// A request that was begun has read_timeout, and 1 s more for each MiB.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(nil))
		for _, begun := range []struct {
			bytes []byte
			after time.Duration
		}{
			{[]byte{0}, 15 * time.Second},
			{[]byte{0, 0, 0, 100, 0}, 15 * time.Second},
			{binary.BigEndian.AppendUint32(nil, 100<<20), 115 * time.Second}, // E4
		} {
			c := r.pipe()
			c.ask(kmsg.NewPtrHeartbeatRequest(), 4)
			time.Sleep(time.Minute)
			c.sendRaw(begun.bytes)
			after := c.closedAfter()
			require.InDelta(t, begun.after.Seconds(), after.Seconds(), 0.01, "%x", begun.bytes)
		}
		r.closed("read_timeout", 3)
	})
}

// A request that trickles in does not restart its clock.
func TestReadTimeoutOfTrickle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(nil))
		c := r.pipe()
		c.ask(kmsg.NewPtrHeartbeatRequest(), 4)
		trickled := c.trickle(frame(kmsg.NewPtrHeartbeatRequest(), 4, 1), 4*time.Second)
		after := c.closedAfter()
		require.InDelta(t, 15, after.Seconds(), 0.01)
		r.closed("read_timeout", 1)
		require.Equal(t, 4, <-trickled)
	})
}

// trickle writes byte by byte until that fails; the channel gets how many the
// server took.
func (c *client) trickle(b []byte, pause time.Duration) <-chan int {
	taken := make(chan int, 1)
	go func() {
		for i := range b {
			if _, err := c.Write(b[i : i+1]); err != nil {
				taken <- i
				return
			}
			time.Sleep(pause)
		}
		taken <- len(b)
	}()
	return taken
}

// An answer that nobody takes: write_timeout, and 1 s more for each MiB.
func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, fetching := untaken(func(h handler.Handler) *running { return pipes(t, nil, h) })
		fetching(r.pipe)
	})
}

// untaken starts a server whose answers nobody takes. What it returns has clients, each
// by connect, ask for one without records and for a large one.
func untaken(start func(handler.Handler) *running) (r *running, fetching func(connect func() *client)) {
	var records []byte
	r = start(dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil }))
	return r, func(connect func() *client) {
		r.t.Helper()
		for _, size := range []int{0, 5 << 20} {
			records = make([]byte, size)
			c := connect()
			c.ask(kmsg.NewPtrFetchRequest(), 11)
			time.Sleep(time.Minute)
			c.send(kmsg.NewPtrFetchRequest(), 11)
			began := time.Now()
			<-r.ends()
			require.InDelta(r.t, 10+float64(size>>20), time.Since(began).Seconds(), 0.01)
		}
		r.closed("write_timeout", 2)
	}
}

// ends returns a channel that is closed when no connection is left.
func (r *running) ends() <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		for r.connections() > 0 {
			time.Sleep(time.Millisecond)
		}
		close(ch)
	}()
	return ch
}

// While a call waits, its connection is not idle; afterwards it is.
func TestNotIdleWhileWaiting(t *testing.T) {
	t.Parallel()
	wait := dispatchtest.Heartbeat(
		func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			time.Sleep(25 * time.Minute)
			return kmsg.NewPtrHeartbeatResponse(), nil
		})
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, wait)
		c := r.pipe()
		c.ask(kmsg.NewPtrHeartbeatRequest(), 4)
		require.Equal(t, 10*time.Minute, c.closedAfter())
		r.closed("idle_timeout", 1)
	})
}
