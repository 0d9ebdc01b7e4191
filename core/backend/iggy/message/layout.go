package message

import (
	"encoding/binary"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// The user headers of a message that a gateway wrote. Their keys are strings and
// their values raw bytes, but for what other gateways are known to write.
const (
	headerVersion   = "kafka.v"
	headerTimestamp = "kafka.ts"
	headerValue     = "kafka.value"
	headerEnvelope  = "kafka.envelope"
	headerKey       = "kafka.key"
	headerPrefix    = "kafka.h."
)

// The values of these headers.
const (
	layoutVersion   = "\x01" // of headerVersion
	envelopeVersion = "\x01" // of headerEnvelope
	valueNull       = "null"
	valueEmpty      = "empty"
	timestampEpoch  = "epoch"
)

// placeholder is the payload of a record without a value, as payloads are never
// empty. It is shared and read only.
var placeholder = []byte{0}

// The wire form of a user header is twice kind (u8), length (u32, little-endian)
// and bytes: first the key, then the value.
const (
	fieldOverhead = 1 + 4
	entryOverhead = 2 * fieldOverhead
)

// kinds of keys and values.
const (
	kindRaw    = byte(iggcon.Raw)
	kindString = byte(iggcon.String)
	kindInt64  = byte(iggcon.Int64)
)

// entry is one user header.
type entry struct {
	keyKind, valueKind byte
	key, value         []byte
}

// cutEntry reads the first user header of a block. Kinds and lengths that no
// server of today would make are read all the same: they are handed over as raw
// bytes.
func cutEntry(block []byte) (e entry, rest []byte, ok bool) {
	if e.keyKind, e.key, rest, ok = cutField(block); !ok {
		return entry{}, nil, false
	}
	e.valueKind, e.value, rest, ok = cutField(rest)
	return e, rest, ok
}

func cutField(b []byte) (kind byte, field, rest []byte, ok bool) {
	if len(b) < fieldOverhead || b[0] == 0 {
		return 0, nil, nil, false
	}
	n := binary.LittleEndian.Uint32(b[1:])
	b, kind = b[fieldOverhead:], b[0]
	if uint64(n) > uint64(len(b)) {
		return 0, nil, nil, false
	}
	return kind, b[:n:n], b[n:], true
}

func entrySize(key, value int) int { return entryOverhead + key + value }

// appendEntry appends a user header whose key is prefix and name together.
func appendEntry(block []byte, keyKind byte, prefix string, name, value []byte) []byte {
	block = append(block, keyKind)
	block = binary.LittleEndian.AppendUint32(block, uint32(len(prefix)+len(name)))
	block = append(append(block, prefix...), name...)
	block = append(block, kindRaw)
	block = binary.LittleEndian.AppendUint32(block, uint32(len(value)))
	return append(block, value...)
}

// appendMark appends one of the gateway's own headers.
func appendMark(block []byte, key, value string) []byte {
	block = append(block, kindString)
	block = binary.LittleEndian.AppendUint32(block, uint32(len(key)))
	block = append(append(block, key...), kindRaw)
	block = binary.LittleEndian.AppendUint32(block, uint32(len(value)))
	return append(block, value...)
}

// plainBlock is the block of a record with neither key nor headers. It is shared
// and read only.
var plainBlock = appendMark(nil, headerVersion, layoutVersion)

// version returns the value of the version header; nil when there is none, as in
// what native clients write. The last of several counts, as for a reader that
// keeps headers in a map. ok is false when the block cannot be read.
func version(block []byte) (value []byte, ok bool) {
	for len(block) > 0 {
		var e entry
		if e, block, ok = cutEntry(block); !ok {
			return nil, false
		}
		if e.keyKind == kindString && string(e.key) == headerVersion {
			value = e.value
		}
	}
	return value, true
}

// FromGateway reports whether a gateway wrote the message, of whatever version:
// only then do its id and its headers mean what this package says.
func FromGateway(m *Message) bool {
	v, ok := version(m.UserHeaders)
	return ok && v != nil
}
