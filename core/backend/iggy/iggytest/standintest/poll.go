package standintest

import (
	"encoding/binary"
	"slices"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// Kinds of consumers.
const (
	singleConsumer = 1
	groupConsumer  = 2
)

// pollRequest is a poll.
type pollRequest struct {
	consumer      consumer
	stream, topic identifier
	partition     uint32
	kind          uint8
	value         uint64
	count         uint32
	commit        bool
}

func (body *reader) poll() pollRequest {
	r := pollRequest{consumer: consumer{kind: body.u8()}}
	if body.failed == 0 && r.consumer.kind != singleConsumer && r.consumer.kind != groupConsumer {
		body.failed = errInvalidCommand
	}
	r.consumer.id = body.identifier()
	r.stream, r.topic = body.identifier(), body.identifier()
	named := body.u8() == 1
	if r.partition = body.u32(); !named {
		r.partition = 0
	}
	r.kind, r.value = body.u8(), body.u64()
	if body.failed == 0 && (r.kind < wiretest.ByOffset || r.kind > wiretest.FromNext) {
		body.failed = errInvalidCommand
	}
	r.count = body.u32()
	r.commit = body.u8() != 0
	return r
}

// poll answers with the partition, CurrentOffset, the number of messages and the
// messages.
func (s *Server) poll(_ *conn, body *reader) (uint32, []byte) {
	r := body.poll()
	if body.failed != 0 {
		return body.failed, nil
	}
	_, t, status := s.find(r.stream, r.topic)
	if status != 0 {
		return status, nil
	}
	p := t.partition(r.partition)
	if p == nil {
		return errPartitionNotFound, nil
	}
	found, torn, status := p.poll(r)
	if status != 0 {
		return status, nil
	}
	if r.commit && len(found) > 0 {
		p.offsets[r.consumer] = binary.LittleEndian.Uint64(found[len(found)-1][offsetAt:])
	}
	var w writer
	w.u32(r.partition)
	w.u64(p.current())
	w.u32(uint32(len(found)))
	for i, m := range found {
		for _, garbage := range torn[i] {
			w = append(w, garbage...)
		}
		w = append(w, m...)
	}
	return 0, w
}

// poll finds the messages of a poll, and by their places the bytes that precede
// some of them.
func (p *partition) poll(r pollRequest) (found [][]byte, torn map[int][][]byte, status uint32) {
	if r.count == 0 {
		return nil, nil, 0
	}
	if r.kind == wiretest.ByTimestamp {
		found, torn = p.pollTime(r.value, r.count)
		return found, torn, 0
	}
	from := p.start(r)
	if from > p.current() {
		return nil, nil, 0
	}
	return p.read(from, r.count)
}

// start is the offset that a poll starts at.
func (p *partition) start(r pollRequest) uint64 {
	switch r.kind {
	case wiretest.ByOffset:
		return r.value
	case wiretest.FromLast:
		return p.current() + 1 - min(uint64(r.count), p.current()+1)
	case wiretest.FromNext:
		if stored, ok := p.offsets[r.consumer]; ok {
			return stored + 1
		}
	}
	return p.first
}

// pollTime starts at a message that a binary search finds, which is not always
// the first of its time, and reads without looking for torn offsets.
func (p *partition) pollTime(at uint64, count uint32) ([][]byte, map[int][][]byte) {
	n := len(p.messages)
	if n == 0 || at > p.time(n-1) {
		return nil, nil
	}
	from := p.search(at)
	found := p.messages[from:min(uint64(n), uint64(from)+uint64(count))]
	torn := map[int][][]byte{}
	for i := range found {
		if t, ok := p.torn[offsetIn(found[i])]; ok {
			torn[i] = slices.Clone(t.bytes)
		}
	}
	return found, torn
}

func (p *partition) time(i int) uint64 {
	return binary.LittleEndian.Uint64(p.messages[i][timestampAt:])
}

// search is Iggy's search over its index.
func (p *partition) search(at uint64) int {
	if at <= p.time(0) {
		return 0
	}
	low, high := 0, len(p.messages)-1
	for low <= high {
		mid := low + (high-low)/2
		switch t := p.time(mid); {
		case t == at:
			return mid
		case t < at:
			low = mid + 1
		default:
			high = mid - 1
		}
	}
	return low
}
