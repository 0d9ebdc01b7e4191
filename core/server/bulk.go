package server

import "github.com/iggykafka/gateway/core/wire"

// A transport such as TLS reads and writes records of 16 KiB, each by a system call
// of its own, and each wakes the other side up. That costs more than to encrypt them.
// So large requests and answers go through a buffer below the transport, in bulk.
const (
	// oneRecord is what a transport writes at once by itself, in bytes.
	oneRecord = 16 << 10
	// bulkSize is the size of the buffers, in bytes. It is little enough to stay in a
	// processor's own cache, and for a client to decrypt a part while the next one is
	// encrypted; larger ones make nothing cheaper.
	bulkSize = 256 << 10
	// bulkBuffers is how many of them there are for all connections. Who finds none goes
	// on without; slow clients can take them all, and then cost nothing but speed.
	bulkBuffers = 128
)

// bulk lends the buffers.
type bulk struct {
	pool  *wire.Pool
	taken chan struct{}
}

func newBulk(pool *wire.Pool) *bulk { return &bulk{pool, make(chan struct{}, bulkBuffers)} }

// get returns a buffer for size bytes, or as many as there is room for; nil when all
// buffers are taken.
func (b *bulk) get(size int) *wire.Buffer {
	select {
	case b.taken <- struct{}{}:
		return b.pool.Get(min(size, bulkSize))
	default:
		return nil
	}
}

// put takes a buffer back. Nil is allowed.
func (b *bulk) put(buffer *wire.Buffer) {
	if buffer != nil {
		b.pool.Put(buffer)
		<-b.taken
	}
}

// ahead is what a socket has read beyond what it was asked for. One goroutine uses it.
type ahead struct {
	on     bool         // what comes is read in bulk
	left   int          // bytes that have to come before a buffer is taken
	size   int          // what it is for
	owner  *bulk        // of the buffer
	buffer *wire.Buffer // nil: nothing
	at     int          // what comes before has been handed on
}

// readAhead has the socket read in bulk, size bytes and what follows, if there is a
// buffer for it. A client that only says how much it will send gets none: it has to
// send as much first as a transport may keep in any case.
func (s *socket) readAhead(b *bulk, size int) {
	if s.ahead.buffer == nil {
		s.ahead = ahead{owner: b, size: size, left: oneRecord}
	}
	s.ahead.on = true
}

// readNoMore ends that. What is left is handed on first.
func (s *socket) readNoMore() {
	if s.ahead.on = false; s.ahead.buffer != nil && s.ahead.at == len(s.ahead.buffer.B) {
		s.giveBack()
	}
}

// giveBack gives the buffer back, whatever is in it.
func (s *socket) giveBack() {
	if s.ahead.buffer != nil {
		s.ahead.owner.put(s.ahead.buffer)
		s.ahead = ahead{}
	}
}

// takeBuffer takes the buffer, if it is time for it and there is one.
func (s *socket) takeBuffer() {
	a := &s.ahead
	if !a.on || a.buffer != nil || a.left > 0 {
		return
	}
	a.buffer = a.owner.get(a.size)
	a.on = a.buffer != nil
}

// notAhead reads without the buffer.
func (s *socket) notAhead(p []byte) (int, error) {
	n, err := s.fromConn(p)
	s.ahead.left -= n
	return n, err
}

// fromAhead reads from the buffer, which it fills when it is empty.
func (s *socket) fromAhead(p []byte) (int, error) {
	a := &s.ahead
	if a.at == len(a.buffer.B) {
		if !a.on {
			s.giveBack()
			return s.fromConn(p)
		}
		n, err := s.fromConn(a.buffer.B[:cap(a.buffer.B)])
		a.buffer.B, a.at = a.buffer.B[:n], 0
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, a.buffer.B[a.at:])
	a.at += n
	return n, nil
}
