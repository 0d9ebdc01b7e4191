package client

import (
	"encoding/binary"
	"fmt"
	"sync"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// Sending and polling go past the SDK, on the relay's socket to the server: the
// SDK copies every message twice into fresh memory, the relay carries it once
// more, and its decoder leaves out a last message without payload. What is sent
// is byte for byte what the SDK sends; replies are read with every length
// checked.

// ids makes the identifiers of a topic and its stream, for the SDK.
func (t Topic) ids() (stream, topic iggcon.Identifier, err error) {
	if stream, err = iggcon.NewIdentifier(t.Stream); err == nil {
		topic, err = iggcon.NewIdentifier(t.Name)
	}
	return stream, topic, err
}

// valid is what ids checks, without making them: it is asked for every request.
func (t Topic) valid() error {
	for _, name := range []string{t.Stream, t.Name} {
		if len(name) == 0 || len(name) > maxName {
			return ierror.ErrInvalidIdentifier
		}
	}
	return nil
}

const (
	identifierHead = 2 // u8 kind · u8 length
	messageHead    = iggcon.MessageHeaderSize
	indexBytes     = 16
	// polledHead begins the reply to a poll: u32 partition · u64 offset of the
	// last message · u32 messages.
	polledHead = 4 + 8 + 4
)

// appendTo appends both identifiers, of names.
func (t Topic) appendTo(b []byte) []byte {
	for _, name := range []string{t.Stream, t.Name} {
		b = append(b, byte(iggcon.StringId), byte(len(name)))
		b = append(b, name...)
	}
	return b
}

func (t Topic) size() int { return 2*identifierHead + len(t.Stream) + len(t.Name) }

// manyMessages is the least count for which memory is taken that is used again:
// polls for less have small replies, which nobody releases.
const manyMessages = 16

// maxPooled is the largest request or reply whose memory is used again.
const maxPooled = 16 << 20

var (
	requests = sync.Pool{New: func() any { return new([]byte) }}
	replies  = sync.Pool{New: func() any { return new([]byte) }}
)

// send makes one request of all messages.
func (s *session) send(t Topic, partition uint32, messages []iggcon.IggyMessage) error {
	if len(messages) == 0 {
		return ierror.ErrInvalidMessagesCount
	}
	b := requests.Get().(*[]byte)
	*b = appendSend((*b)[:0], t, partition, messages)
	reply, err := s.relay.exchange(*b, s.relay.maxReply)
	if cap(*b) <= maxPooled {
		requests.Put(b)
	}
	return failure(reply, err)
}

func failure(reply captured, err error) error {
	if err == nil && reply.status != 0 {
		return ierror.FromCode(ierror.Code(reply.status))
	}
	return err
}

// appendSend writes the frame of a request:
//
//	u32 length of the next four · stream · topic · partitioning · u32 messages
//	for each message, u32 0 · u32 end of it · u64 0
//	the messages
func appendSend(b []byte, t Topic, partition uint32, messages []iggcon.IggyMessage) []byte {
	const partitioning = 2 + 4 // u8 kind · u8 length · u32 partition
	head := t.size() + partitioning + 4
	size := headerBytes + 4 + head + indexBytes*len(messages)
	at := size // of the first message
	for i := range messages {
		size += messageHead + len(messages[i].Payload) + len(messages[i].UserHeaders)
	}
	if cap(b) < size {
		b = make([]byte, 0, size+size/4)
	}
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(size-requestAhead))
	b = le.AppendUint32(b, codeSend)
	b = le.AppendUint32(b, uint32(head))
	b = t.appendTo(b)
	b = append(b, byte(iggcon.PartitionIdKind), 4)
	b = le.AppendUint32(b, partition)
	b = le.AppendUint32(b, uint32(len(messages)))
	index := len(b)
	b = b[:at]
	clear(b[index:])
	for i := range messages {
		b = appendMessage(b, &messages[i])
		le.PutUint32(b[index+indexBytes*i+4:], uint32(len(b)-at))
	}
	return b
}

func appendMessage(b []byte, m *iggcon.IggyMessage) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, m.Header.Checksum)
	b = append(b, m.Header.Id[:]...)
	b = le.AppendUint64(b, m.Header.Offset)
	b = le.AppendUint64(b, m.Header.Timestamp)
	b = le.AppendUint64(b, m.Header.OriginTimestamp)
	b = le.AppendUint32(b, uint32(len(m.UserHeaders)))
	b = le.AppendUint32(b, uint32(len(m.Payload)))
	b = le.AppendUint64(b, m.Header.Reserved)
	b = append(b, m.Payload...)
	return append(b, m.UserHeaders...)
}

// pollMessages makes one request for messages.
func (s *session) pollMessages(t Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (Polled, error) {
	var memory *[]byte
	var into []byte
	if count >= manyMessages {
		// After a failure it is left alone: somebody may still read into it.
		memory = replies.Get().(*[]byte)
		into = *memory
	}
	reply, err := s.relay.exchangeInto(into, pollFrame(t, partition, from, count), s.relay.maxReply)
	if err := failure(reply, err); err != nil {
		return Polled{}, err
	}
	polled, err := decodePolled(reply.body)
	if memory != nil {
		*memory = reply.body
		polled.memory = memory
	}
	return polled, err
}

// pollFrame is a request for messages:
//
//	u8 consumer kind · consumer · stream · topic · u8 1 · u32 partition
//	u8 strategy · u64 its value · u32 count · u8 auto commit
func pollFrame(t Topic, partition uint32, from iggcon.PollingStrategy, count uint32) []byte {
	const consumer = 1 + identifierHead + 4
	le := binary.LittleEndian
	b := frame(codePoll, consumer+t.size()+1+4+1+8+4+1)
	b = append(b, byte(iggcon.ConsumerKindSingle), byte(iggcon.NumericId), 4, 0, 0, 0, 0)
	b = t.appendTo(b)
	b = append(b, 1)
	b = le.AppendUint32(b, partition)
	b = append(b, byte(from.Kind))
	b = le.AppendUint64(b, from.Value)
	b = le.AppendUint32(b, count)
	return append(b, 0)
}

// decodePolled reads the reply to a poll, whose memory the messages keep.
// ErrBadReply.
func decodePolled(body []byte) (Polled, error) {
	if len(body) < polledHead { // none at all, too, would say that the log is empty
		return Polled{}, fmt.Errorf("%w: %d bytes about messages", ErrBadReply, len(body))
	}
	le := binary.LittleEndian
	p, count := Polled{Current: le.Uint64(body[4:])}, le.Uint32(body[12:])
	rest := body[polledHead:]
	// Each message has at least its head, so the count costs no more than came.
	p.Messages = make([]iggcon.IggyMessage, 0, min(int(count), len(rest)/messageHead))
	for len(rest) > 0 {
		if len(rest) < messageHead {
			return Polled{}, fmt.Errorf("%w: %d bytes after message %d", ErrBadReply, len(rest), len(p.Messages))
		}
		m := iggcon.IggyMessage{Header: iggcon.MessageHeader{
			Checksum: le.Uint64(rest), Id: iggcon.MessageID(rest[8:24]), Offset: le.Uint64(rest[24:]), Timestamp: le.Uint64(rest[32:]),
			OriginTimestamp: le.Uint64(rest[40:]), UserHeaderLength: le.Uint32(rest[48:]), PayloadLength: le.Uint32(rest[52:]),
			Reserved: le.Uint64(rest[56:]),
		}}
		rest = rest[messageHead:]
		payload, headers := uint64(m.Header.PayloadLength), uint64(m.Header.UserHeaderLength)
		if payload+headers > uint64(len(rest)) {
			return Polled{}, fmt.Errorf("%w: message %d of %d bytes in %d", ErrBadReply, len(p.Messages), payload+headers, len(rest))
		}
		m.Payload = rest[:payload:payload]
		if headers > 0 {
			m.UserHeaders = rest[payload : payload+headers : payload+headers]
		}
		rest = rest[payload+headers:]
		p.Messages = append(p.Messages, m)
	}
	// More than it says come where a poll by time crosses an offset that the server
	// cannot read.
	if uint64(len(p.Messages)) < uint64(count) {
		return Polled{}, fmt.Errorf("%w: %d of %d messages", ErrBadReply, len(p.Messages), count)
	}
	return p, nil
}
