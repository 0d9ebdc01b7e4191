package standintest

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// send is a send that has been read.
type send struct {
	stream, topic identifier
	kind          uint8 // of the partitioning
	value         []byte
	messages      [][]byte
}

// Kinds of partitioning.
const (
	balanced     = 1
	partitionID  = 2
	messagesByID = 3
)

// readSend reads a send in the steps in which Iggy does, which looks at the
// login before it reads anything.
//
//	u32 length of the metadata · metadata: stream, topic, partitioning, u32 count
//	count indexes of 16 bytes: u32 offset, u32 end of the message, u64 timestamp
//	messages: header of 64 bytes, payload, user headers
func (c *conn) readSend(r *request, total uint32) error {
	r.status = errUnauthenticated
	if c.user == noUser {
		return nil
	}
	r.status = 0
	head, err := c.bytes(4)
	if err != nil {
		return err
	}
	metadataSize := binary.LittleEndian.Uint32(head)
	if metadataSize > total {
		r.status = errInvalidCommand
		return nil
	}
	metadata, err := c.bytes(int64(metadataSize))
	if err != nil {
		return err
	}
	var count uint32
	if r.send, count, r.status = parseMetadata(metadata); r.status != 0 {
		return nil
	}
	return c.readMessages(r, int64(total)-4-int64(metadataSize), count, int64(total))
}

func (c *conn) readMessages(r *request, left int64, count uint32, total int64) error {
	indexSize := int64(count) * messageIndexBytes
	if indexSize > total {
		r.status = errInvalidCommand
		return nil
	}
	indexes, err := c.bytes(indexSize)
	if err != nil {
		return err
	}
	if left -= indexSize; left < 0 {
		r.status = errInvalidCommand
		return nil
	}
	data, err := c.bytes(left)
	if err != nil {
		return err
	}
	r.send.messages, r.status = split(indexes, data)
	return nil
}

func parseMetadata(b []byte) (*send, uint32, uint32) {
	body := &reader{rest: b}
	s := &send{stream: body.identifier(), topic: body.identifier()}
	if body.failed != 0 {
		return s, 0, errInvalidIdentifier
	}
	s.kind = body.u8()
	s.value = []byte(body.string8())
	count := body.u32()
	wrong := s.kind < balanced || s.kind > messagesByID ||
		s.kind == partitionID && len(s.value) != 4 || s.kind == balanced && len(s.value) != 0
	if body.failed == 0 && wrong {
		body.failed = errInvalidCommand
	}
	return s, count, body.failed
}

// split takes the messages of a send apart and checks them as Iggy does.
func split(indexes, data []byte) ([][]byte, uint32) {
	count := len(indexes) / messageIndexBytes
	if count == 0 {
		return nil, errInvalidMessagesCount
	}
	messages := make([][]byte, 0, count)
	var start, size uint64
	for i := range count {
		index := indexes[i*messageIndexBytes:]
		if status := checkIndex(index); status != 0 {
			return nil, status
		}
		end := uint64(binary.LittleEndian.Uint32(index[4:]))
		if i == count-1 {
			end = uint64(len(data))
		}
		if end < start || end > uint64(len(data)) {
			return nil, errMissingIndex
		}
		m := data[start:end]
		length, status := checkMessage(m)
		if status != 0 {
			return nil, status
		}
		size += length
		messages = append(messages, m)
		start = end
	}
	if size != uint64(len(data)) {
		return nil, errMessagesSize
	}
	return messages, 0
}

func checkIndex(index []byte) uint32 {
	switch {
	case binary.LittleEndian.Uint32(index) != 0:
		return errNonZeroOffset
	case binary.LittleEndian.Uint64(index[8:]) != 0:
		return errNonZeroTimestamp
	default:
		return 0
	}
}

// checkMessage returns how long a message says that it is.
func checkMessage(m []byte) (uint64, uint32) {
	if len(m) < headerSize {
		return 0, errMissingIndex
	}
	headers := uint64(binary.LittleEndian.Uint32(m[userHeaderLenAt:]))
	payload := uint64(binary.LittleEndian.Uint32(m[payloadLengthAt:]))
	switch length := headerSize + headers + payload; {
	case length > uint64(len(m)):
		return 0, errMissingIndex
	case payload > maxPayload:
		return 0, errTooBigMessagePayload
	case headers > maxUserHeaders:
		return 0, errTooBigUserHeaders
	default:
		return length, 0
	}
}

// append executes a send.
func (s *Server) append(r *send) uint32 {
	_, t, status := s.find(r.stream, r.topic)
	if status != 0 {
		return status
	}
	p := t.pick(r)
	if p == nil {
		return errPartitionNotFound
	}
	p.take(r.messages, uint64(time.Now().UnixMicro()), s.options.SegmentSize)
	return 0
}

func randomID() (id [16]byte) {
	_, _ = rand.Read(id[:])
	return id
}

// pick returns the partition of a send, and nil when there is none.
func (t *topic) pick(r *send) *partition {
	switch n := len(t.partitions); {
	case r.kind == partitionID:
		return t.partition(binary.LittleEndian.Uint32(r.value))
	case n == 0:
		return nil
	case r.kind == messagesByID:
		var sum int
		for _, b := range r.value {
			sum += int(b)
		}
		return t.partitions[sum%n]
	default:
		t.next = (t.next + 1) % n
		return t.partitions[t.next]
	}
}

func (t *topic) partition(id uint32) *partition {
	if uint64(id) >= uint64(len(t.partitions)) {
		return nil
	}
	return t.partitions[id]
}
