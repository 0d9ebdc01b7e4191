package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

// answering is a transport that answers what is none of a request, as crypto/tls answers
// requests for new keys: from within a read.
type answering struct{ greeting }

func (a *answering) protocol() Option {
	return WithProtocols(Protocol{Name: "GREETING", Open: func(ListenerConfig) (Transport, error) { return a, nil }})
}

func (a *answering) Secure(ctx context.Context, nc net.Conn) (net.Conn, security.Principal, error) {
	secured, who, err := a.greeting.Secure(ctx, nc)
	return answers{secured}, who, err
}

// question is what is answered.
var question = []byte("new keys?")

type answers struct{ net.Conn }

func (c answers) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if !bytes.Equal(p[:n], question) {
			return n, err
		}
		_, _ = c.Conn.Write([]byte("new keys")) // an error shows at the next write
	}
}

// What the transport has to say, and nobody reads, holds up neither a shutdown nor the
// end of a connection whose place another one needs.
func TestUnreadByTheTransport(t *testing.T) {
	t.Parallel()
	unread := func(r *running, ask bool) *client {
		c := r.pipe()
		c.greet("alice")
		if ask {
			c.ask(quick(0), 4)
		}
		c.sendRaw(question)
		synctest.Wait()
		return c
	}
	one := func(c *Config) { byGreeting(c); c.MaxConnections = 1 }
	for _, ask := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := pipesWith(t, []Option{new(answering).protocol()}, one, newParked().asks())
			unread(r, ask)
			require.LessOrEqual(t, (<-r.stopping(context.Background())).after, goodbye)
			r.closed("shutdown", 1)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := pipesWith(t, []Option{new(answering).protocol()}, one, newParked().asks())
		unread(r, false)
		time.Sleep(displaceAfter + time.Second)
		began := time.Now()
		next := r.pipe()
		next.greet("alice")
		next.ask(quick(0), 4)
		r.closed("displaced", 1)
		require.LessOrEqual(t, time.Since(began), goodbye+time.Second)
		next.Close()
	})
}

// An answer under way is written to its end all the same, and so is the good-bye.
func TestInterruptedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := &socket{Conn: far, spare: time.Hour}
		s.finishBy(time.Now().Add(time.Minute))
		answer := bytes.Repeat([]byte("answer"), 1000)
		written := make(chan error, 1)
		go func() {
			_, err := s.Write(answer)
			s.finished()
			written <- err
		}()
		got := make([]byte, len(answer))
		_, err := io.ReadFull(near, got[:7])
		require.NoError(t, err)
		synctest.Wait()
		s.interrupt()
		synctest.Wait()
		_, err = io.ReadFull(near, got[7:])
		require.NoError(t, err)
		require.Equal(t, answer, got)
		require.NoError(t, <-written)

		s.finishBy(time.Now().Add(goodbye))
		go func() { _, err := s.Write([]byte("adieu")); written <- err }()
		_, err = io.ReadFull(near, got[:5])
		require.NoError(t, err)
		require.NoError(t, <-written)
		s.finished()
		_, err = s.Write([]byte("new keys"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "nobody waits for it")
		near.Close()
		far.Close()
	})
}

// What a client does not take in time is dropped with its connection: the system keeps
// none of it. What it may take yet is not.
func TestUntakenIsDropped(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	for _, taken := range []bool{true, false} {
		near, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer near.Close()
		far, err := ln.Accept()
		require.NoError(t, err)
		s := &socket{Conn: far}
		answer, limit := make([]byte, 64<<20), 200*time.Millisecond // more than the system takes
		if taken {
			answer, limit = answer[:1000], time.Minute // which a loaded machine may need some of
		}
		s.finishBy(time.Now().Add(limit))
		_, err = s.Write(answer)
		require.Equal(t, taken, err == nil)
		require.NoError(t, s.Close())
		n, err := io.Copy(io.Discard, near)
		if taken {
			require.NoError(t, err)
			require.EqualValues(t, len(answer), n)
		} else {
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
	}
}
