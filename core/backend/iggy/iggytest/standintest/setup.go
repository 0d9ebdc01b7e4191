package standintest

import (
	"encoding/binary"
	"fmt"
	"time"
)

// change does something to a partition, whether the server runs or not.
func (s *Server) change(streamName, topicName string, id uint32, do func(*partition)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, t, status := s.find(identifier{name: streamName}, identifier{name: topicName})
	if status != 0 {
		return fmt.Errorf("standintest: %s/%s: status %d", streamName, topicName, status)
	}
	p := t.partition(id)
	if p == nil {
		return fmt.Errorf("standintest: %s/%s has no partition %d", streamName, topicName, id)
	}
	do(p)
	return nil
}

// Lose drops the last n messages of a partition, as a server does that is killed
// before it has saved them.
func (s *Server) Lose(streamName, topicName string, id uint32, n int) error {
	return s.change(streamName, topicName, id, func(p *partition) { p.lose(n) })
}

// Expire drops all messages of a partition below an offset, as retention does.
// When none is left, a restart has the server count from 0 again.
func (s *Server) Expire(streamName, topicName string, id uint32, first uint64) error {
	return s.change(streamName, topicName, id, func(p *partition) { p.expire(first) })
}

// Tear does to a partition what a kill between the writes of a message and of
// its index does: the message that is sent next gets the offset of one that is in
// the log already, and polls whose range touches that offset are refused. Where the
// torn message is the first of a segment it keeps its offset, and the server finds
// each message of the segment under the offset before its own: it refuses what begins
// behind the torn one, and shows the rest together with it.
func (s *Server) Tear(streamName, topicName string, id uint32) error {
	return s.change(streamName, topicName, id, func(p *partition) {
		torn := make([]byte, headerSize, headerSize+4)
		binary.LittleEndian.PutUint64(torn[offsetAt:], p.next)
		binary.LittleEndian.PutUint64(torn[timestampAt:], uint64(time.Now().UnixMicro()))
		binary.LittleEndian.PutUint32(torn[payloadLengthAt:], 4)
		p.tear(append(torn, "torn"...))
	})
}

// Unreadable makes one offset unreadable: polls whose range touches it are
// refused with a status, 4100 or 4027 as a rule.
func (s *Server) Unreadable(streamName, topicName string, id uint32, offset uint64, status uint32) error {
	return s.change(streamName, topicName, id, func(p *partition) { p.torn[offset] = tear{status: status} })
}
