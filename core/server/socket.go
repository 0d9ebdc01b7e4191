package server

import (
	"errors"
	"net"
	"os"
	"time"
)

// socket reads and writes by deadlines that cost next to nothing: setting one
// is dear, so the one set last is kept while it lies before the one that holds.
// When it passes too early it is set again and the work goes on.
//
// One goroutine may read while another writes.
type socket struct {
	net.Conn
	readBy     time.Time // when reads fail, set by their caller
	readArmed  time.Time // what the socket was told
	writeArmed time.Time
}

// Read reads what there is, waiting until readBy. Its error then is
// os.ErrDeadlineExceeded.
func (s *socket) Read(p []byte) (int, error) {
	if s.readArmed.IsZero() || s.readArmed.After(s.readBy) {
		s.armRead()
	}
	for {
		n, err := s.Conn.Read(p)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(s.readBy) {
			s.armRead()
			continue
		}
		return n, err
	}
}

func (s *socket) armRead() {
	s.readArmed = s.readBy
	s.Conn.SetReadDeadline(s.readBy) // fails on a closed socket only, as the read will
}

// writeAll writes b, taking no longer than until by. Its error then is
// os.ErrDeadlineExceeded.
func (s *socket) writeAll(b []byte, by time.Time) error {
	if s.writeArmed.IsZero() || s.writeArmed.After(by) {
		s.armWrite(by)
	}
	for {
		n, err := s.Conn.Write(b)
		b = b[n:]
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(by) {
			s.armWrite(by)
			continue
		}
		return err
	}
}

func (s *socket) armWrite(by time.Time) {
	s.writeArmed = by
	s.Conn.SetWriteDeadline(by)
}
