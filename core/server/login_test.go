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
	"github.com/iggykafka/gateway/core/security"
)

// byGreeting makes a listener secure its connections by a greeting.
func byGreeting(c *Config) { c.Protocol = "GREETING" }

// A transport tells who the client is, and the login begins with that; handlers see
// both, and the listener.
func TestSecured(t *testing.T) {
	t.Parallel()
	calls := make(chan handler.Call, 10)
	l, g := &logins{}, &greeting{}
	r := startWith(t, []Option{g.protocol(true), WithLogins(l)}, byGreeting, dispatchtest.Heartbeat(
		func(ctx context.Context, call handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			call.Login.Authenticate(ctx, []byte(req.Group))
			calls <- call
			return kmsg.NewPtrHeartbeatResponse(), nil
		}))
	c := r.dial()
	c.greet("alice")
	c.ask(token("open"), 4)
	call := <-calls
	require.Equal(t, security.User("alice"), call.Principal)
	port := r.Bound()[0].Port
	require.Equal(t, handler.Listener{Name: "default", Protocol: "GREETING", Host: "127.0.0.1", Port: port}, call.Listener)
	require.Equal(t, []security.Requester{{Principal: security.User("alice"), Host: "127.0.0.1", Listener: "default"}}, l.seen)
	require.NoError(t, r.Stop(context.Background()))
	bye, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "adieu", string(bye), "a shutdown lets the transport say good-bye")
	require.EqualValues(t, 1, g.closed.Load())
}

// first_request_timeout holds over the transport, the login and the first request
// together, whatever was said in between.
func TestLoginDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newRefusals()
		r := pipesWith(t, []Option{(&greeting{}).protocol(true), WithLogins(&logins{}), WithAudit(a)}, byGreeting, newParked().asks())
		require.Equal(t, 30*time.Second, r.pipeFrom("10.0.0.7").closedAfter(), "silent from the beginning")
		require.Equal(t, "default 10.0.0.7: no complete request within first_request_timeout", <-a.told)

		half := r.pipe()
		half.sendRaw([]byte("ali"))
		time.Sleep(20 * time.Second)
		require.Equal(t, 10*time.Second, half.closedAfter(), "half of a handshake")
		<-a.told

		for _, asked := range []string{"", "anything"} { // and not logged in
			c := r.pipe()
			time.Sleep(20 * time.Second)
			c.greet("alice")
			if asked != "" {
				c.ask(token(asked), 4)
			}
			began := time.Now()
			bye, err := io.ReadAll(c)
			require.NoError(t, err)
			require.Equal(t, "adieu", string(bye))
			require.Equal(t, 10*time.Second, time.Since(began))
			require.Contains(t, <-a.told, "no complete request within first_request_timeout", "secured and silent")
		}
		r.closed("first_request_timeout", 4)

		c := r.pipe()
		c.greet("alice")
		c.ask(token("open"), 4)
		time.Sleep(9 * time.Minute)
		c.ask(quick(0), 4)
		c.Close()
	})
}

// A login that is checked for long, with the reader one frame ahead, has the same
// deadline; one that succeeds in time ends it.
func TestLoginDeadlineWhileChecking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipesWith(t, []Option{WithLogins(&logins{})}, func(c *Config) { c.Protocol = SASLPlaintext }, p.asks())
		slow := r.pipe()
		slow.send(token("slow"), 4)
		began := time.Now()
		<-r.ends()
		require.GreaterOrEqual(t, time.Since(began), time.Minute, "what is checked goes on")
		slow.expectClosed()
		r.closed("first_request_timeout", 1)
	})
}

// A client that has yet to log in sends small frames only, and no deal of memory is
// kept for it.
func TestFramesBeforeLogin(t *testing.T) {
	t.Parallel()
	a := newRefusals()
	r := startWith(t, []Option{WithLogins(&logins{}), WithAudit(a)}, func(c *Config) { c.Protocol = SASLPlaintext },
		newParked().asks(), dispatchtest.Produce())
	c := r.dial()
	c.sendRaw(binary.BigEndian.AppendUint32(nil, 12<<10+1))
	c.expectClosed()
	r.closed("bad_frame", 1)
	require.Contains(t, <-a.told, "illegal frame length: 12289 bytes")

	c = r.dial()
	c.ask(produceOf(11<<10), 9) // a login that admits it is the session's affair
	c.ask(token("open"), 4)
	c.ask(produceOf(1<<20), 9)
}

// The answer that refuses a login is the last one.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	r := startWith(t, []Option{WithLogins(&logins{})}, func(c *Config) { c.Protocol = SASLPlaintext }, newParked().asks())
	c := r.dial()
	c.ask(token("wrong"), 4)
	c.expectClosed()
	r.closed("login", 1)
	c = r.dial()
	c.ask(token("open"), 4)
	c.ask(quick(0), 4)
}

// A transport that finds no agreement closes, and is told of.
func TestNotSecured(t *testing.T) {
	t.Parallel()
	a := newRefusals()
	r := startWith(t, []Option{(&greeting{}).protocol(false), WithAudit(a)}, byGreeting, newParked().asks())
	c := r.dial()
	c.sendRaw([]byte("mouse"))
	c.expectClosed()
	r.closed("handshake", 1)
	require.Equal(t, "default 127.0.0.1: no agreement on how to secure the connection: no mice", <-a.told)

	gone := r.dial() // a health check, a scan: not worth a line
	gone.Close()
	r.closed("client_closed", 1)
	require.Empty(t, a.told)
}

// A shutdown ends handshakes and logins at once.
func TestShutdownBeforeLogin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, []Option{(&greeting{}).protocol(true), WithLogins(&logins{})}, byGreeting, newParked().asks())
		silent, half, greeted := r.pipe(), r.pipe(), r.pipe()
		half.sendRaw([]byte("ali"))
		greeted.greet("alice")
		synctest.Wait()
		done := r.stopping(context.Background())
		silent.expectClosed()
		half.expectClosed()
		_, err := io.ReadAll(greeted)
		require.NoError(t, err)
		require.Equal(t, stopped{}, <-done)
		r.closed("shutdown", 3)
	})
}

// A client that does not read cannot hold up the end of its connection: a transport
// has a moment to say good-bye.
func TestGoodbyeDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, []Option{(&greeting{}).protocol(false)}, byGreeting, newParked().asks())
		c := r.pipe()
		c.greet("alice")
		c.ask(quick(0), 4)
		synctest.Wait()
		require.Equal(t, stopped{after: goodbye}, <-r.stopping(context.Background()))
		r.closed("shutdown", 1)
	})
}

// A write that takes longer than the last one's deadline allows goes on, below the
// transport: records of a large answer after a pause of minutes.
func TestDeadlinesLieBelowTheTransport(t *testing.T) {
	t.Parallel()
	records := make([]byte, 300<<10)
	fetch := dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil })
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, []Option{(&greeting{}).protocol(false)}, byGreeting, fetch)
		c := r.pipe()
		c.greet("alice")
		for range 4 {
			c.ask(kmsg.NewPtrFetchRequest(), 11)
			time.Sleep(6 * time.Minute) // the armed read deadline passes now and then
			c.send(kmsg.NewPtrFetchRequest(), 11)
			time.Sleep(9 * time.Second) // and so does a write's
			c.answer(kmsg.NewPtrFetchRequest(), 11)
		}
		c.Close()
	})
}
