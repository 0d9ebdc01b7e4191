package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// parked is a Heartbeat handler whose calls for the group "wait" wait until the
// test answers them with a code, or their context ends.
type parked struct {
	arrived chan context.Context
	answer  chan int16
}

func newParked() parked {
	return parked{arrived: make(chan context.Context, 100), answer: make(chan int16)}
}

func (p parked) handlers() []handler.Handler {
	return []handler.Handler{dispatchtest.Heartbeat(p.heartbeat)}
}

func (p parked) heartbeat(ctx context.Context, call handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
	resp := kmsg.NewPtrHeartbeatResponse()
	if req.Group != "wait" {
		resp.ErrorCode = int16(req.Generation)
		return resp, nil
	}
	ctx, stop := call.Park(ctx)
	defer stop()
	p.arrived <- ctx
	select {
	case resp.ErrorCode = <-p.answer:
	case <-ctx.Done():
		resp.ErrorCode = -1
	}
	return resp, nil
}

func waiting() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group = "wait"
	return req
}

func quick(code int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Generation = code
	return req
}

func code(resp kmsg.Response) int16 { return resp.(*kmsg.HeartbeatResponse).ErrorCode }

// A client that goes away ends the context of its waiting call, and nothing of
// it is logged as a fault.
func TestDisconnectEndsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		c := r.pipe()
		c.send(waiting(), 4)
		ctx := <-p.arrived
		time.Sleep(5 * time.Minute) // longer than any deadline
		require.NoError(t, ctx.Err())
		c.Close()
		<-ctx.Done()
		r.closed("client_closed", 1)
		require.Zero(t, r.logs.Len())
	})
}

// The same over sockets, with both ways to go away.
func TestHangUpEndsCall(t *testing.T) {
	t.Parallel()
	p := newParked()
	r := start(t, nil, p.handlers()...)
	for i, linger := range []int{-1, 0} { // FIN and RST
		c := r.dial()
		c.send(waiting(), 4)
		ctx := <-p.arrived
		require.NoError(t, c.Conn.(*net.TCPConn).SetLinger(linger))
		c.Close()
		<-ctx.Done()
		r.closed("client_closed", i+1)
	}
	require.Zero(t, r.logs.Len())
}

// While a call waits one more request is read, and not a byte of a third. They
// are answered in order, under their own correlation ids.
func TestOneFrameAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		c := r.pipe()
		c.send(waiting(), 4)
		<-p.arrived
		c.send(quick(7), 4) // a pipe takes what is read, and waits with the rest
		third := make(chan struct{})
		go func() {
			c.sendRaw(frame(quick(8), 4, 3))
			close(third)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case <-third:
			t.Error("the third request was read")
		default:
		}
		p.answer <- 5
		for i, want := range []int16{5, 7, 8} {
			c.next = int32(i + 1)
			require.Equal(t, want, code(c.answer(waiting(), 4)))
		}
		<-third
	})
}

// The end of the connection behind a request that was read ahead is seen when
// that request has been answered.
func TestDisconnectBehindReadAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		c := r.pipe()
		c.send(waiting(), 4)
		ctx := <-p.arrived
		c.send(quick(7), 4)
		c.Close()
		time.Sleep(time.Minute)
		require.NoError(t, ctx.Err())
		p.answer <- 0
		r.closed("client_closed", 1)
	})
}

// Calls that wait again and again on one connection: the goroutine that leads
// it changes each time.
func TestManyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		c := r.pipe()
		for i := range int16(50) {
			c.send(waiting(), 4)
			<-p.arrived
			time.Sleep(time.Duration(i%3) * lookAhead) // below, at and above it
			p.answer <- i
			require.Equal(t, i, code(c.answer(waiting(), 4)))
			require.Equal(t, int16(9), code(c.ask(quick(9), 4)))
		}
	})
}

// A frame that cannot be, read ahead, closes the connection and ends the call.
func TestBadFrameReadAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		c := r.pipe()
		c.send(waiting(), 4)
		ctx := <-p.arrived
		time.Sleep(lookAhead)
		c.sendRaw([]byte{0x7f, 0xff, 0xff, 0xff})
		<-ctx.Done()
		c.expectClosed()
		r.closed("bad_frame", 1)
	})
}

// A waiting call that fails closes the connection, though another request is
// being read: at once, and for its own reason.
func TestFailureWhileReadingAhead(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int{0, 7, 1000} {
		synctest.Test(t, func(t *testing.T) {
			fail := make(chan error)
			r := pipes(t, nil, dispatchtest.Heartbeat(
				func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
					return nil, <-fail
				}))
			c := r.pipe()
			c.send(waiting(), 4)
			time.Sleep(time.Second)
			if b := frame(quick(1), 4, 2); ahead > 0 {
				c.sendRaw(b[:min(ahead, len(b))])
			}
			fail <- errors.New("broken")
			c.expectClosed()
			r.closed("handler_error", 1)
			require.Equal(t, 1, r.logs.Len())
			line := r.logs.All()[0]
			require.Equal(t, "connection closed", line.Message)
			require.Equal(t, "Heartbeat (key 12) v4: broken", line.ContextMap()["error"])
			require.Equal(t, "test", line.ContextMap()["client_id"])
		})
	}
}
