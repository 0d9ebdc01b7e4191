package wiretest

import (
	"bytes"
	"encoding/binary"
)

// HeaderSize is the length of a message's header, in bytes.
const HeaderSize = 64

// Message is a message as it is sent and as it is stored.
type Message struct {
	Checksum  uint64
	ID        [16]byte
	Offset    uint64
	Timestamp uint64 // µs, the server's
	Origin    uint64 // µs, the sender's
	Reserved  uint64
	Payload   []byte
	Headers   []byte
}

// Append appends the bytes of a message.
func (m Message) Append(to []byte) []byte {
	le := binary.LittleEndian
	to = le.AppendUint64(to, m.Checksum)
	to = append(to, m.ID[:]...)
	for _, v := range []uint64{m.Offset, m.Timestamp, m.Origin} {
		to = le.AppendUint64(to, v)
	}
	to = le.AppendUint32(to, uint32(len(m.Headers)))
	to = le.AppendUint32(to, uint32(len(m.Payload)))
	to = le.AppendUint64(to, m.Reserved)
	return append(append(to, m.Payload...), m.Headers...)
}

// Messages takes the messages of a reply apart, as far as they are whole.
func Messages(b []byte) []Message {
	var all []Message
	le := binary.LittleEndian
	for len(b) >= HeaderSize {
		headers, payload := uint64(le.Uint32(b[48:])), uint64(le.Uint32(b[52:]))
		if uint64(len(b)) < HeaderSize+headers+payload {
			break
		}
		body := b[HeaderSize:]
		all = append(all, Message{
			Checksum: le.Uint64(b), ID: [16]byte(b[8:24]), Offset: le.Uint64(b[24:]), Timestamp: le.Uint64(b[32:]),
			Origin: le.Uint64(b[40:]), Reserved: le.Uint64(b[56:]),
			Payload: body[:payload], Headers: body[payload : payload+headers],
		})
		b = body[payload+headers:]
	}
	return all
}

// SendBody is the body of a send to a partition.
func SendBody(stream, topic string, partition uint32, messages ...Message) []byte {
	size := 0
	for _, m := range messages {
		size += HeaderSize + len(m.Payload) + len(m.Headers)
	}
	data, indexes := make([]byte, 0, size), make([]byte, 0, 16*len(messages))
	for _, m := range messages {
		data = m.Append(data)
		index := make([]byte, 16)
		binary.LittleEndian.PutUint32(index[4:], uint32(len(data)))
		indexes = append(indexes, index...)
	}
	return SendRaw(stream, topic, partition, uint32(len(messages)), indexes, data)
}

// SendRaw is the body of a send whose indexes and messages are given as bytes.
func SendRaw(stream, topic string, partition, count uint32, indexes, data []byte) []byte {
	const toPartition = 2
	metadata := Name(Name(nil, stream), topic)
	metadata = binary.LittleEndian.AppendUint32(append(metadata, toPartition, 4), partition)
	metadata = binary.LittleEndian.AppendUint32(metadata, count)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(metadata)))
	return bytes.Join([][]byte{head, metadata, indexes, data}, nil)
}

// Kinds of polling.
const (
	ByOffset    = 1
	ByTimestamp = 2
	FromFirst   = 3
	FromLast    = 4
	FromNext    = 5
)

// PollBody is the body of a poll by the consumer with the id 1.
func PollBody(stream, topic string, partition uint32, kind uint8, value uint64, count uint32) []byte {
	const single, named = 1, 1
	body := Number([]byte{single}, 1)
	body = append(Name(Name(body, stream), topic), named)
	body = binary.LittleEndian.AppendUint32(body, partition)
	body = binary.LittleEndian.AppendUint64(append(body, kind), value)
	body = binary.LittleEndian.AppendUint32(body, count)
	return append(body, 0) // no commit
}

// Polled is the reply to a poll.
type Polled struct {
	Partition uint32
	Current   uint64
	Count     uint32
	Messages  []Message
}

// ParsePolled takes the reply to a poll apart.
func ParsePolled(reply []byte) Polled {
	if len(reply) < 16 {
		return Polled{}
	}
	le := binary.LittleEndian
	return Polled{le.Uint32(reply), le.Uint64(reply[4:]), le.Uint32(reply[12:]), Messages(reply[16:])}
}
