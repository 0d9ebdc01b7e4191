package standintest

import "encoding/binary"

// Places in the header of a message: checksum, id, offset, timestamp, origin
// timestamp, length of the user headers, length of the payload, reserved.
const (
	headerSize        = 64
	idAt              = 8
	offsetAt          = 24
	timestampAt       = 32
	userHeaderLenAt   = 48
	payloadLengthAt   = 52
	maxPayload        = 64_000_000
	maxUserHeaders    = 100_000
	messageIndexBytes = 16
)

// partition is a log.
type partition struct {
	created  created
	first    uint64   // the offset of messages[0], or of the next message when there is none
	messages [][]byte // as they are sent in replies
	segments []segment
	size     uint64 // their bytes
	offsets  map[consumer]uint64
	torn     map[uint64]tear
	// pending is a message whose send was cut short by a kill: the next one gets
	// its offset and cannot be read.
	pending [][]byte
	next    uint64 // the offset of the next message
	// shifted says that the server started over an empty log that had had
	// messages: it counts from 0 again, and takes offset 0 for first, so that no
	// message is found where it should be.
	shifted bool
}

type consumer struct {
	kind uint8
	id   identifier
}

// tear is an offset that cannot be read, and the bytes that a poll by timestamp
// returns in front of its message. Without a status it can be read, and every poll
// returns them.
type tear struct {
	status uint32
	bytes  [][]byte
}

func newPartition(made created) *partition {
	return &partition{created: made, segments: make([]segment, 1), offsets: map[consumer]uint64{}, torn: map[uint64]tear{}}
}

// current is the offset of the last message; 0 also when there never was one.
func (p *partition) current() uint64 { return max(p.next, 1) - 1 }

// append takes messages that are valid and gives them offsets.
func (p *partition) append(messages [][]byte, now uint64, id func() [16]byte) {
	for _, m := range messages {
		offset := p.next
		binary.LittleEndian.PutUint64(m[offsetAt:], offset)
		binary.LittleEndian.PutUint64(m[timestampAt:], now)
		if [16]byte(m[idAt:offsetAt]) == ([16]byte{}) {
			random := id()
			copy(m[idAt:], random[:])
		}
		p.untear(offset)
		p.size += uint64(len(m))
		p.last().entries++
		p.last().bytes += uint64(len(m))
		p.messages = append(p.messages, m)
		p.next++
	}
}

// lose drops the last n messages, as if they had never been sent.
func (p *partition) lose(n int) {
	for range min(n, len(p.messages)) {
		for p.last().entries == 0 {
			if p.last().behind {
				p.pending = nil
				p.next--
			}
			p.segments = p.segments[:len(p.segments)-1]
		}
		last := len(p.messages) - 1
		p.drop(p.messages[last])
		p.messages = p.messages[:last]
		p.last().entries--
		p.next--
	}
}

func (p *partition) drop(m []byte) {
	p.size -= uint64(len(m))
	delete(p.torn, offsetIn(m))
}

// expire drops all messages below an offset, as retention does.
func (p *partition) expire(first uint64) {
	for len(p.messages) > 0 && p.first < first {
		m := p.messages[0]
		p.drop(m)
		p.messages = p.messages[1:]
		for p.segments[0].entries == 0 {
			p.segments = p.segments[1:]
		}
		s := &p.segments[0]
		s.entries--
		s.start, s.behind = offsetIn(m)+1, false
		if s.entries == 0 && len(p.segments) > 1 {
			p.segments = p.segments[1:]
		}
		p.first = p.segments[0].start
	}
}

// restore does what a start does to a log: one that is empty, but was not
// always, is taken for one that never had messages; and what such a log has got
// since is misread, as the index has offsets relative to first in 32 bits, which
// are below 0.
func (p *partition) restore() {
	switch {
	case len(p.messages) == 0 && p.first > 0 && !p.last().behind:
		p.shifted, p.next = true, 0
	case p.shifted:
		p.next = p.first + uint64(uint32(p.next-1-p.first)) + 1
	}
}
