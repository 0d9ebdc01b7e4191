package message

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/iggykafka/gateway/core/record"
)

// Encode returns the message that stores a record; ErrTooLarge. Its payload
// aliases the record's value unless the record needs an envelope.
func Encode(r *Record, id ID) (Message, error) {
	raw := record.Record{Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		raw.Headers.Append(h.Name, h.Value)
	}
	var e encoder
	return e.encode(r.Timestamp, &raw, id)
}

// encoder makes messages. The memory of one encoder's messages is shared.
type encoder struct {
	memory arena
	// copies: values are copied, because they do not stay where they are.
	copies bool
}

// encode makes the message of a record, whose deltas it does not look at.
func (e *encoder) encode(timestamp int64, r *record.Record, id ID) (Message, error) {
	origin, ts := stamp(timestamp)
	m := Message{}
	m.Header.Id, m.Header.OriginTimestamp = id, origin
	size, fits := nativeSize(r)
	size += len(plainBlock)
	if ts != "" {
		size += entrySize(len(headerTimestamp), len(ts))
	}
	marker := valueMarker(r.Value)
	if marker != "" {
		size += entrySize(len(headerValue), len(marker))
	}
	var err error
	if fits && size <= MaxUserHeaders {
		err = e.native(&m, r, ts, marker, size)
	} else {
		err = e.envelope(&m, r, ts)
	}
	m.Header.PayloadLength, m.Header.UserHeaderLength = uint32(len(m.Payload)), uint32(len(m.UserHeaders))
	return m, err
}

// stamp returns the origin timestamp in µs, and what the timestamp header must
// say where that cannot: a record at the epoch is not one without a timestamp,
// and what is before it, or above what µs hold, does not fit.
func stamp(ms int64) (origin uint64, header string) {
	switch {
	case ms == -1:
		return 0, ""
	case ms == 0:
		return 0, timestampEpoch
	case ms < 0 || ms > math.MaxUint64/1000:
		return 0, strconv.FormatInt(ms, 10)
	}
	return uint64(ms) * 1000, ""
}

func valueMarker(value []byte) string {
	switch {
	case value == nil:
		return valueNull
	case len(value) == 0:
		return valueEmpty
	}
	return ""
}

// nativeSize returns what key and headers take as user headers; fits is false
// when one of them cannot be one.
func nativeSize(r *record.Record) (size int, fits bool) {
	if r.Key != nil {
		if len(r.Key) == 0 || len(r.Key) > maxField {
			return 0, false
		}
		size = entrySize(len(headerKey), len(r.Key))
	}
	for h := r.Headers; h.Next(); {
		name := len(headerPrefix) + len(h.Name)
		size += entrySize(name, len(h.Value))
		if name > maxField || len(h.Value) == 0 || len(h.Value) > maxField || size > MaxUserHeaders {
			return 0, false
		}
	}
	return size, !repeats(r.Headers)
}

// fewHeaders is how many headers are compared each with each.
const fewHeaders = 16

// repeats reports whether a name is there twice. Readers that keep user headers
// in a map would lose one of them.
func repeats(headers record.Headers) bool {
	if headers.Len() > fewHeaders {
		seen := make(map[string]struct{}, headers.Len())
		for h := headers; h.Next(); {
			seen[string(h.Name)] = struct{}{}
		}
		return len(seen) < headers.Len()
	}
	for h := headers; h.Next(); {
		for other := h; other.Next(); {
			if string(other.Name) == string(h.Name) {
				return true
			}
		}
	}
	return false
}

// native stores key and headers as user headers, which take size bytes.
func (e *encoder) native(m *Message, r *record.Record, ts, marker string, size int) error {
	switch {
	case len(r.Value) > MaxPayload:
		return fmt.Errorf("%w: a value of %d bytes, limit %d", ErrTooLarge, len(r.Value), MaxPayload)
	case marker != "":
		m.Payload = placeholder
	case e.copies:
		m.Payload = append(e.memory.take(len(r.Value)), r.Value...)
	default:
		m.Payload = r.Value
	}
	if size == len(plainBlock) {
		m.UserHeaders = plainBlock
		return nil
	}
	block := append(e.memory.take(size), plainBlock...)
	if ts != "" {
		block = appendMark(block, headerTimestamp, ts)
	}
	if marker != "" {
		block = appendMark(block, headerValue, marker)
	}
	if r.Key != nil {
		block = appendEntry(block, kindString, headerKey, nil, r.Key)
	}
	for h := r.Headers; h.Next(); {
		block = appendEntry(block, keyKind(h.Name), headerPrefix, h.Name, h.Value)
	}
	m.UserHeaders = block
	return nil
}

// keyKind returns the kind of a header's key. Clients of other languages turn
// string keys into strings, which not all bytes are.
func keyKind(name []byte) byte {
	if utf8.Valid(name) {
		return kindString
	}
	return kindRaw
}

// envelope stores key, value and headers in the payload.
func (e *encoder) envelope(m *Message, r *record.Record, ts string) error {
	size := envelopeSize(r)
	if size > MaxPayload {
		return fmt.Errorf("%w: an envelope of %d bytes, limit %d", ErrTooLarge, size, MaxPayload)
	}
	m.Payload = appendEnvelope(e.memory.take(int(size)), r)
	n := len(plainBlock) + entrySize(len(headerEnvelope), len(envelopeVersion))
	if ts != "" {
		n += entrySize(len(headerTimestamp), len(ts))
	}
	block := append(e.memory.take(n), plainBlock...)
	if ts != "" {
		block = appendMark(block, headerTimestamp, ts)
	}
	m.UserHeaders = appendMark(block, headerEnvelope, envelopeVersion)
	return nil
}

// arena hands out memory in slices of larger pieces, so that many small slices
// cost few allocations.
type arena struct {
	free []byte
	next int // size of the next piece
}

const (
	firstPiece   = 1 << 10
	largestPiece = 256 << 10
)

// take returns an empty slice of capacity n.
func (a *arena) take(n int) []byte {
	if n > len(a.free) {
		if n > largestPiece/4 {
			return make([]byte, 0, n)
		}
		a.next = min(max(2*a.next, firstPiece, n), largestPiece)
		a.free = make([]byte, a.next)
	}
	out := a.free[:0:n]
	a.free = a.free[n:]
	return out
}
