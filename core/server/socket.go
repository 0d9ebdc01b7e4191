package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/wire"
)

// socket reads and writes by deadlines that cost next to nothing: setting one
// is dear, so the one set last is kept while it lies before the one that holds.
// When it passes too early it is set again and the work goes on. It lies below the
// transport, because crypto/tls gives a connection up after a write that timed out.
//
// One goroutine may read while another writes.
type socket struct {
	net.Conn
	turn *turnstile // while the transport is agreed on, else nil

	readBy    time.Time // when reads fail, set by their caller
	readArmed time.Time // what the socket was told
	ahead     ahead
	// interrupted makes reads fail, for good, and writes that are not timed.
	interrupted atomic.Bool

	mu         sync.Mutex // held by writes
	writeBy    time.Time
	writeArmed time.Time
	// timed is whether writeBy has been set for what is written now. Else it is
	// something that the transport has to say of its own, as crypto/tls answers
	// requests for new keys, and may take this long.
	timed  bool
	spare  time.Duration
	held   *wire.Buffer // what is not written yet; nil: all is written at once
	broken error        // why writes fail, for good
	// untaken is whether that is a client that does not read.
	untaken atomic.Bool
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// Read reads what there is, waiting until readBy. Its error then is
// os.ErrDeadlineExceeded.
func (s *socket) Read(p []byte) (int, error) {
	if s.turn == nil {
		return s.read(p)
	}
	s.turn.leave()
	n, err := s.read(p)
	if err == nil {
		if err = s.turn.enter(); err != nil {
			return 0, err // whoever has all it needs takes no notice of an error
		}
	}
	return n, err
}

func (s *socket) read(p []byte) (int, error) {
	s.takeBuffer()
	if s.ahead.buffer != nil {
		return s.fromAhead(p)
	}
	return s.notAhead(p)
}

func (s *socket) fromConn(p []byte) (int, error) {
	if s.readArmed.IsZero() || s.readArmed.After(s.readBy) {
		s.armRead()
	}
	for {
		n, err := s.Conn.Read(p)
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case s.interrupted.Load():
			return 0, net.ErrClosed
		case !time.Now().Before(s.readBy):
			return 0, err
		}
		s.armRead()
	}
}

func (s *socket) armRead() {
	s.readArmed = s.readBy
	s.Conn.SetReadDeadline(s.readBy) // fails on a closed socket only, as the read will
	if s.interrupted.Load() {
		s.Conn.SetReadDeadline(past) // interrupt may have come before the line above
	}
}

// interrupt ends the read under way, and all that follow, with net.ErrClosed. It may
// be called at any time. Unlike a close it lets an answer be written to its end, and the
// transport say good-bye; only what the transport writes of its own, from within a read,
// ends, too.
func (s *socket) interrupt() {
	s.interrupted.Store(true)
	s.Conn.SetReadDeadline(past)
	s.Conn.SetWriteDeadline(past) // a write that has time left sets its own again
}

// Write writes p, or holds it back until release. It fails when the time that
// finishBy has set, or its own, is over; its error then is os.ErrDeadlineExceeded.
func (s *socket) Write(p []byte) (n int, err error) {
	if s.turn != nil {
		s.turn.leave() // the client may not take it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.timed {
		s.writeBy = time.Now().Add(s.spare)
	}
	if s.held == nil {
		return s.write(p)
	}
	for n < len(p) && s.broken == nil {
		b := s.held.B
		room := min(cap(b)-len(b), len(p)-n)
		s.held.B = append(b, p[n:n+room]...)
		if n += room; len(s.held.B) == cap(s.held.B) {
			s.flush()
		}
	}
	return n, s.broken
}

// write writes p. The caller holds mu.
func (s *socket) write(p []byte) (n int, err error) {
	if s.broken != nil {
		return 0, s.broken
	}
	s.beginWrite()
	for {
		var more int
		more, err = s.Conn.Write(p[n:])
		if n += more; err == nil {
			return n, nil
		}
		if !s.goesOn(err) {
			return n, err
		}
	}
}

// atOnce is how many pieces are written by one system call: for so many net.Conn keeps
// room, 16 bytes each, until it is closed.
const atOnce = 64

// writePieces writes pieces, of which nothing is left then. It fails as Write does.
func (s *socket) writePieces(pieces net.Buffers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(pieces) == 1 {
		_, err := s.write(pieces[0])
		return err
	}
	if s.broken != nil {
		return s.broken
	}
	s.beginWrite()
	for len(pieces) > 0 {
		some := pieces[:min(len(pieces), atOnce)]
		pieces = pieces[len(some):]
		for {
			_, err := some.WriteTo(s.Conn) // takes away what has been written
			if err == nil {
				break
			}
			if !s.goesOn(err) {
				return err
			}
		}
	}
	return nil
}

// beginWrite has the deadline that holds be at writeBy or before. The caller holds mu.
func (s *socket) beginWrite() {
	if s.writeArmed.IsZero() || s.writeArmed.After(s.writeBy) {
		s.armWrite()
	}
}

// goesOn reports whether a write that failed has time left, and gives it to it. The
// caller holds mu.
func (s *socket) goesOn(err error) bool {
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if !late || !time.Now().Before(s.writeBy) || s.givenUp() {
		s.broken = err
		s.untaken.Store(late)
		return false
	}
	s.armWrite()
	return true
}

func (s *socket) armWrite() {
	s.writeArmed = s.writeBy
	s.Conn.SetWriteDeadline(s.writeBy)
	if s.givenUp() {
		s.Conn.SetWriteDeadline(past) // interrupt may have come before the line above
	}
}

// givenUp reports whether nobody waits for what is written now. The caller holds mu.
func (s *socket) givenUp() bool { return s.interrupted.Load() && !s.timed }

// finishBy sets the time that writes may take, until finished.
func (s *socket) finishBy(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeBy, s.timed = t, true
}

// finished ends what finishBy began.
func (s *socket) finished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = false
}

// hold keeps what is written until the buffer is full.
func (s *socket) hold(b *wire.Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = b
}

// release writes what is held back, and ends that.
func (s *socket) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.held = nil
	return s.broken
}

// flush writes what is held back. The caller holds mu.
func (s *socket) flush() {
	if len(s.held.B) > 0 && s.broken == nil {
		_, _ = s.write(s.held.B) // keeps its error in broken
	}
	s.held.B = s.held.B[:0]
}

// Close closes the connection. What a client has not taken in time is dropped: the
// system would offer it for minutes, out of megabytes of its memory.
func (s *socket) Close() error {
	if tcp, ok := s.Conn.(*net.TCPConn); ok && s.untaken.Load() {
		tcp.SetLinger(0)
	}
	return s.Conn.Close()
}

// SetDeadline does nothing, as do SetReadDeadline and SetWriteDeadline: the time
// that a connection may take is the server's affair, not the transport's.
func (s *socket) SetDeadline(time.Time) error      { return nil }
func (s *socket) SetReadDeadline(time.Time) error  { return nil }
func (s *socket) SetWriteDeadline(time.Time) error { return nil }
