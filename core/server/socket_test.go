package server

import (
	"bytes"
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

// Pieces are written in order, whatever a client takes at a time, and go on where a
// deadline has cut them that was set for something earlier. They end with their own.
func TestPiecesInTime(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{{"abcdefghij"}, {"abc", "defg", "h", "ij"}} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			s := &socket{Conn: far, spare: time.Second}
			answer := func() (b net.Buffers) {
				for _, piece := range pieces {
					b = append(b, []byte(piece))
				}
				return b
			}
			var got []byte
			take := func(bytes int) <-chan struct{} {
				taken := make(chan struct{})
				go func() {
					defer close(taken)
					for b := make([]byte, 2); bytes > 0; {
						time.Sleep(2 * time.Second)
						n, _ := near.Read(b)
						got = append(got, b[:n]...)
						bytes -= n
					}
				}()
				return taken
			}
			s.finishBy(time.Now().Add(3 * time.Second))
			taken := take(2)
			_, err := s.Write([]byte("12"))
			require.NoError(t, err) // and the deadline is that one
			<-taken
			s.finishBy(time.Now().Add(time.Hour))
			taken = take(10)
			require.NoError(t, s.writePieces(answer()))
			<-taken
			require.Equal(t, "12abcdefghij", string(got))

			s.finishBy(time.Now().Add(3 * time.Second))
			began := time.Now()
			taken = take(2)
			require.ErrorIs(t, s.writePieces(answer()), os.ErrDeadlineExceeded)
			<-taken
			require.Equal(t, 3*time.Second, time.Since(began))
			require.ErrorIs(t, s.writePieces(answer()), os.ErrDeadlineExceeded, "nothing follows half of a write")
			require.True(t, s.untaken.Load())
			far.Close()
		})
	}
}

// Over sockets, which take many pieces at once, empty ones and more than go at once among
// them.
func TestPiecesOverSockets(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	far, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer far.Close()
	near, err := ln.Accept()
	require.NoError(t, err)
	s := &socket{Conn: near, spare: patience}
	var want []byte
	pieces := make(net.Buffers, 2*atOnce) // all of the first are empty
	for i := range 10 * atOnce {
		piece := bytes.Repeat([]byte{byte(i)}, i*7%9000)
		want = append(want, piece...)
		pieces = append(pieces, piece)
	}
	written := make(chan error, 1)
	go func() {
		written <- s.writePieces(pieces)
		near.Close()
	}()
	got, err := io.ReadAll(far)
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.True(t, bytes.Equal(want, got))
}
