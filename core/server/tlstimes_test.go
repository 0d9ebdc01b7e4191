package server

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/handler"
)

// What the tests of timeouts and of memory hold of connections in the clear, of those
// with TLS.

// pipesByTLS is pipes that speak TLS, with a login if that is asked for.
func pipesByTLS(t *testing.T, login bool, handlers ...handler.Handler) *running {
	t.Helper()
	secured := newTLS(t)
	secured.config.SessionTicketsDisabled = true // a pipe has no room for what nobody reads yet
	opened := Protocol{Name: "TLS", Login: login, Open: func(ListenerConfig) (Transport, error) { return secured, nil }}
	return pipesWith(t, []Option{WithProtocols(opened), WithLogins(&logins{})}, byTLS, handlers...)
}

// pipeTLS connects, and agrees on TLS.
func (r *running) pipeTLS() *client {
	r.t.Helper()
	c := r.pipe()
	secured := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true}) // whoever it is: the test's own
	require.NoError(r.t, secured.Handshake())
	c.Conn = secured
	return c
}

// A length that is legal, and then nothing, or too little: the times are those of a
// connection in the clear, and no buffer is kept for what does not come.
func TestSilentPrefixesOverTLS(t *testing.T) {
	t.Parallel()
	for _, login := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := pipesByTLS(t, login, newParked().asks())
			first := quick(0)
			if login {
				first = token("open")
			}
			var before []*client
			began := time.Now()
			for _, size := range []uint32{1, 1 << 10, 12 << 10} {
				c := r.pipeTLS()
				c.sendRaw(binary.BigEndian.AppendUint32(nil, size))
				before = append(before, c)
			}
			synctest.Wait()
			require.Empty(t, r.bulk.taken)
			for _, c := range before {
				c.closedAfter()
				require.Equal(t, 30*time.Second, time.Since(began))
			}
			r.closed("first_request_timeout", len(before))

			c := r.pipeTLS()
			c.ask(first, 4)
			c.sendRaw(binary.BigEndian.AppendUint32(nil, 100<<20))
			synctest.Wait()
			require.Empty(t, r.bulk.taken)
			c.sendRaw(make([]byte, oneRecord/2))
			synctest.Wait()
			require.Empty(t, r.bulk.taken, "for half a record")
			require.InDelta(t, 115, c.closedAfter().Seconds(), 0.01)
			r.closed("read_timeout", 1)

			c = r.pipeTLS()
			c.ask(first, 4)
			c.sendRaw(binary.BigEndian.AppendUint32(nil, 100<<20))
			for range 3 {
				c.sendRaw(make([]byte, oneRecord))
			}
			synctest.Wait()
			require.Len(t, r.bulk.taken, 1, "for a client that sends")
			c.closedAfter()
			synctest.Wait()
			require.Empty(t, r.bulk.taken, "given back")
			r.closed("read_timeout", 2)
		})
	}
}

// An answer that nobody takes, as one in the clear.
func TestWriteTimeoutOverTLS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, fetching := untaken(func(h handler.Handler) *running { return pipesByTLS(t, false, h) })
		fetching(r.pipeTLS)
		require.Empty(t, r.bulk.taken)
	})
}

// A request in pieces of one byte, each a record of its own, is one request, and its
// pieces buy it no time.
func TestTrickleOverTLS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipesByTLS(t, false, newParked().asks())
		c := r.pipeTLS()
		for _, b := range frame(quick(7), 4, 0) {
			c.sendRaw([]byte{b})
		}
		require.Equal(t, int16(7), code(c.answer(quick(7), 4)))
		trickled := c.trickle(frame(quick(0), 4, 1), 4*time.Second)
		n, err := io.Copy(io.Discard, c)
		require.NoError(t, err, "the end is told")
		require.Zero(t, n)
		require.Equal(t, 4, <-trickled)
		r.closed("read_timeout", 1)
	})
}
