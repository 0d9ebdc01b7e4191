package message

import (
	"encoding/binary"
	"fmt"

	"github.com/iggykafka/gateway/core/record"
)

// The envelope is the payload of a record that user headers cannot hold, little-
// endian: u8 flags · u32 length, key · u32 length, value · u32 count · and for
// each header u32 length, name, u8 present, u32 length, value.
const (
	envelopeKey   = 1 << 0
	envelopeValue = 1 << 1
	envelopeFixed = 1 + 4 + 4 + 4
	// envelopeHeader is what a header takes beside its name and value.
	envelopeHeader = 4 + 1 + 4
)

// envelopeSize returns how long the envelope of a record is.
func envelopeSize(r *record.Record) int64 {
	n := int64(envelopeFixed) + int64(len(r.Key)) + int64(len(r.Value))
	for h := r.Headers; h.Next(); {
		n += envelopeHeader + int64(len(h.Name)) + int64(len(h.Value))
	}
	return n
}

func appendEnvelope(out []byte, r *record.Record) []byte {
	var flags byte
	if r.Key != nil {
		flags |= envelopeKey
	}
	if r.Value != nil {
		flags |= envelopeValue
	}
	out = append(out, flags)
	out = appendBytes(out, r.Key)
	out = appendBytes(out, r.Value)
	out = binary.LittleEndian.AppendUint32(out, uint32(r.Headers.Len()))
	for h := r.Headers; h.Next(); {
		out = appendBytes(out, h.Name)
		present := byte(0)
		if h.Value != nil {
			present = 1
		}
		out = append(out, present)
		out = appendBytes(out, h.Value)
	}
	return out
}

func appendBytes(out, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
}

// envelope reads an envelope from its front.
type envelope struct {
	rest   []byte
	broken bool
}

func (e *envelope) take(n uint64) []byte {
	if n > uint64(len(e.rest)) {
		e.broken = true
		return nil
	}
	b := e.rest[:n:n]
	e.rest = e.rest[n:]
	return b
}

func (e *envelope) byte() byte {
	if b := e.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (e *envelope) uint32() uint32 {
	if b := e.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// field reads a length and as many bytes; what is not present has none and is
// nil.
func (e *envelope) field(present bool) []byte {
	b := e.take(uint64(e.uint32()))
	if present {
		return b
	}
	if len(b) > 0 {
		e.broken = true
	}
	return nil
}

// openEnvelope reads key, value and headers; the headers into memory that r has.
func openEnvelope(payload []byte, r *record.Record) error {
	e := envelope{rest: payload}
	flags := e.byte()
	if flags&^(envelopeKey|envelopeValue) != 0 {
		return fmt.Errorf("%w: envelope with flags %#x", ErrUnreadable, flags)
	}
	r.Key = e.field(flags&envelopeKey != 0)
	r.Value = e.field(flags&envelopeValue != 0)
	count := e.uint32()
	if uint64(count)*envelopeHeader > uint64(len(e.rest)) {
		e.broken = true
	}
	for i := uint32(0); i < count && !e.broken; i++ {
		name := e.field(true)
		present := e.byte()
		value := e.field(present != 0)
		r.Headers.Append(name, value)
	}
	if e.broken || len(e.rest) > 0 {
		return fmt.Errorf("%w: broken envelope of %d bytes", ErrUnreadable, len(payload))
	}
	return nil
}
