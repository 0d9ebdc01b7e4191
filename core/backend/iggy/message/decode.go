package message

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/iggykafka/gateway/core/record"
)

// Decode reads a message into r, whose memory for headers it uses again. Key and
// value alias the message. A message without the mark of a gateway, as native
// clients write them, has a null key, all its user headers and its payload as
// value. ErrUnreadable.
func Decode(m *Message, r *Record) error {
	var d decoder
	raw, err := d.decode(m)
	if err != nil {
		return err
	}
	r.Timestamp, r.Key, r.Value, r.Headers = d.timestamp, raw.Key, raw.Value, r.Headers[:0]
	for h := raw.Headers; h.Next(); {
		r.Headers = append(r.Headers, Header{h.Name, h.Value})
	}
	return nil
}

// Timestamp returns the timestamp of the record that a message stores, in ms
// since the epoch, as a Batcher with that setting shows it. ErrUnreadable.
func Timestamp(m *Message, logAppendTime bool) (int64, error) {
	d, ok := decoders.Get().(*decoder)
	if !ok {
		d = new(decoder)
	}
	defer decoders.Put(d)
	if _, err := d.decode(m); err != nil {
		return 0, err
	}
	return d.time(m, logAppendTime), nil
}

// decoders are those that wait for another Timestamp.
var decoders sync.Pool

// decoder reads one message after another.
type decoder struct {
	headers   record.Headers // of the last message; their memory is used again
	timestamp int64
	native    bool // no gateway wrote it
}

// keptHeaders is the largest memory for headers that waits for the next message.
const keptHeaders = 1 << 20

// decode reads a message. The record is valid until the next call; its key and
// value alias the message.
func (d *decoder) decode(m *Message) (record.Record, error) {
	if d.headers.Bytes() > keptHeaders {
		d.headers = record.Headers{}
	}
	d.headers.Reset()
	v, ok := version(m.UserHeaders)
	switch {
	case !ok:
		return record.Record{}, fmt.Errorf("%w: broken user headers", ErrUnreadable)
	case v == nil:
		return d.nativeRecord(m), nil
	case string(v) != layoutVersion:
		return record.Record{}, fmt.Errorf("%w: layout version %x", ErrUnreadable, v[:min(len(v), 8)])
	}
	return d.gatewayRecord(m)
}

// nativeRecord reads what an Iggy client wrote, whose block has been looked at.
func (d *decoder) nativeRecord(m *Message) record.Record {
	for block := m.UserHeaders; len(block) > 0; {
		var e entry
		e, block, _ = cutEntry(block)
		d.headers.Append(nameOf(e.key), e.value)
	}
	d.native, d.timestamp = true, originTime(m)
	return record.Record{Value: notNil(m.Payload), Headers: d.headers}
}

// nameOf returns the name of a header for the key of a native client's. Kafka's
// names are text, and some clients fail on others, while keys may be any bytes.
func nameOf(key []byte) []byte {
	if utf8.Valid(key) {
		return key
	}
	return bytes.ToValidUTF8(key, []byte(string(utf8.RuneError)))
}

// notNil keeps a value of no bytes apart from null.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// marks are the gateway's own headers of a message.
type marks struct {
	timestamp, value, envelope entry
	key                        []byte
}

func (d *decoder) gatewayRecord(m *Message) (record.Record, error) {
	var found marks
	for block := m.UserHeaders; len(block) > 0; {
		var e entry
		e, block, _ = cutEntry(block)
		if name, ok := bytes.CutPrefix(e.key, []byte(headerPrefix)); ok {
			d.headers.Append(name, e.value)
		} else if e.keyKind == kindString {
			found.note(e)
		}
	}
	var err error
	d.native = false
	if d.timestamp, err = gatewayTime(m, found.timestamp); err != nil {
		return record.Record{}, err
	}
	if found.envelope.value != nil {
		return d.enveloped(m, found.envelope.value)
	}
	r := record.Record{Key: found.key, Headers: d.headers}
	switch {
	case found.value.value == nil:
		r.Value = notNil(m.Payload)
	case string(found.value.value) == valueEmpty:
		r.Value = []byte{}
	case string(found.value.value) != valueNull:
		return record.Record{}, fmt.Errorf("%w: value marked as %.10q", ErrUnreadable, found.value.value)
	}
	return r, nil
}

func (f *marks) note(e entry) {
	switch string(e.key) {
	case headerTimestamp:
		f.timestamp = e
	case headerValue:
		f.value = e
	case headerEnvelope:
		f.envelope = e
	case headerKey:
		f.key = e.value
	}
}

// enveloped reads a record from its envelope; user headers beside the gateway's
// own mean nothing then.
func (d *decoder) enveloped(m *Message, version []byte) (record.Record, error) {
	if string(version) != envelopeVersion {
		return record.Record{}, fmt.Errorf("%w: envelope version %x", ErrUnreadable, version[:min(len(version), 8)])
	}
	d.headers.Reset()
	r := record.Record{Headers: d.headers}
	err := openEnvelope(m.Payload, &r)
	d.headers = r.Headers
	return r, err
}

// originTime returns the time that the client gave a message, or the server's
// where it gave none.
func originTime(m *Message) int64 {
	if m.Header.OriginTimestamp == 0 {
		return serverTime(m)
	}
	return int64(m.Header.OriginTimestamp / 1000)
}

func serverTime(m *Message) int64 { return int64(m.Header.Timestamp / 1000) }

// gatewayTime returns the timestamp of a record that a gateway wrote. Of the
// forms of the header, the one of kind int64 is that of Iggy's own gateway, in
// which −1 stands for a record without a timestamp.
func gatewayTime(m *Message, header entry) (int64, error) {
	switch {
	case header.value == nil:
		return originTime(m), nil
	case string(header.value) == timestampEpoch:
		return 0, nil
	}
	var ms int64
	var err error
	if header.valueKind == kindInt64 && len(header.value) == 8 {
		ms = int64(binary.LittleEndian.Uint64(header.value))
	} else if ms, err = strconv.ParseInt(string(header.value), 10, 64); err != nil {
		return 0, fmt.Errorf("%w: timestamp %.20q", ErrUnreadable, header.value)
	}
	if ms == -1 {
		return serverTime(m), nil
	}
	return ms, nil
}

// time returns the timestamp that the last message has for consumers.
func (d *decoder) time(m *Message, logAppendTime bool) int64 {
	if logAppendTime && d.native && m.Header.Timestamp != 0 {
		return serverTime(m)
	}
	return d.timestamp
}
