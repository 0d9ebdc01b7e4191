package server

import (
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/wire"
)

// What the transport has to say of its own has time of its own, however long ago the
// last answer was due: crypto/tls gives the connection up when such a write fails.
func TestTheTransportsOwnWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := &socket{Conn: far, spare: 10 * time.Second}
		go io.Copy(io.Discard, near)
		s.finishBy(time.Now().Add(time.Second))
		_, err := s.Write([]byte("an answer"))
		require.NoError(t, err)
		s.finished()
		time.Sleep(time.Hour)
		_, err = s.Write([]byte("a new key"))
		require.NoError(t, err)
		near.Close()
		far.Close()

		near, far = net.Pipe()
		s = &socket{Conn: far, spare: 10 * time.Second}
		began := time.Now()
		_, err = s.Write([]byte("a new key"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		s.finishBy(time.Now().Add(time.Hour))
		_, err = s.Write([]byte("an answer"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "nothing follows half of a write")
		near.Close()
		far.Close()
	})
}

// What is held back keeps its order, and an error of it is not lost.
func TestHoldingBack(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	s := &socket{Conn: far, spare: time.Minute}
	got := make(chan string)
	go func() {
		b, _ := io.ReadAll(near)
		got <- string(b)
	}()
	b := &wire.Buffer{B: make([]byte, 0, 4)}
	s.hold(b)
	for _, part := range []string{"a", "bcdefghij", "", "kl"} {
		n, err := s.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	require.NoError(t, s.release())
	_, err := s.Write([]byte("!"))
	require.NoError(t, err)
	far.Close()
	require.Equal(t, "abcdefghijkl!", <-got)
	s.hold(b)
	_, err = s.Write([]byte("x"))
	require.NoError(t, err, "held back")
	require.Error(t, s.release())
	_, err = s.Write([]byte("y"))
	require.Error(t, err)
}

// An interrupt ends the read under way and those that follow, whatever deadline is
// set in the same moment.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for range 200 {
		near, far := net.Pipe()
		s := &socket{Conn: far}
		failed := make(chan error)
		go func() {
			s.readBy = time.Now().Add(time.Hour)
			_, err := s.Read(make([]byte, 1))
			failed <- err
		}()
		s.interrupt()
		require.ErrorIs(t, <-failed, net.ErrClosed)
		_, err := s.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		near.Close()
		far.Close()
	}
}
