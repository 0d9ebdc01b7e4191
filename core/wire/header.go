package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrHeader: a request header runs past the end of its frame.
var ErrHeader = errors.New("malformed request header")

// MinPayload is the length in bytes of the smallest request header, so of the
// smallest payload: key, version, correlation id and a null client id.
const MinPayload = 10

// keyApiVersions is the one key with a header rule of its own: a client sends
// it before it knows what the broker speaks, so the response header must be
// readable by the oldest client at every version (KIP-511).
const keyApiVersions = 18

// Header is the fixed start of every request header. It is the same in header
// versions 1 and 2; which of the two a request has depends on its key and
// version, so on the table of handlers: see [Header.Split].
type Header struct {
	Key           int16
	Version       int16
	CorrelationID int32
}

// fixedSize is the length in bytes of the fields of Header.
const fixedSize = 8

// ParseHeader reads the fixed start of the header of a frame's payload.
func ParseHeader(payload []byte) (Header, error) {
	if len(payload) < MinPayload {
		return Header{}, fmt.Errorf("%w: a request of %d bytes", ErrHeader, len(payload))
	}
	return Header{
		Key:           int16(binary.BigEndian.Uint16(payload)),     // #nosec G115 -- the same bits, as the protocol has them
		Version:       int16(binary.BigEndian.Uint16(payload[2:])), // #nosec G115 -- the same bits, as the protocol has them
		CorrelationID: int32(binary.BigEndian.Uint32(payload[4:])), // #nosec G115 -- the same bits, as the protocol has them
	}, nil
}

// Split parses the rest of the header of a payload that ParseHeader accepted,
// and returns the client id and the body, which alias the payload. A flexible
// body (KIP-482) has a header of version 2: the same, client id still with a
// two-byte length, and then a tag section, whose tags are skipped. Any negative
// client id length means null, which reads as no bytes.
func Split(payload []byte, flexible bool) (clientID, body []byte, err error) {
	rest := payload[fixedSize:]
	n := int(int16(binary.BigEndian.Uint16(rest))) // #nosec G115 -- the same bits, as the protocol has them
	rest = rest[2:]
	if n > len(rest) {
		return nil, nil, fmt.Errorf("%w: a client id of %d bytes with %d left", ErrHeader, n, len(rest))
	}
	if n > 0 {
		clientID, rest = rest[:n], rest[n:]
	}
	if flexible {
		if rest, err = skipTags(rest); err != nil {
			return nil, nil, err
		}
	}
	return clientID, rest, nil
}

// skipTags skips a tag section: count, then number, size and bytes of each tag.
// Each tag takes two bytes at least, so the walk ends with the frame.
func skipTags(b []byte) ([]byte, error) {
	count, b, err := uvarint(b)
	for ; err == nil && count > 0; count-- {
		var size uint32
		if _, b, err = uvarint(b); err != nil {
			break
		}
		if size, b, err = uvarint(b); err != nil {
			break
		}
		if uint64(size) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: a tag of %d bytes with %d left", ErrHeader, size, len(b))
		}
		b = b[size:]
	}
	return b, err
}

// uvarint reads an unsigned varint of 32 bits and returns what follows it.
func uvarint(b []byte) (uint32, []byte, error) {
	u, n := binary.Uvarint(b)
	if n <= 0 || n > binary.MaxVarintLen32 || u > 1<<32-1 {
		return 0, nil, fmt.Errorf("%w: a varint that does not end or is too long", ErrHeader)
	}
	return uint32(u), b[n:], nil
}

// PrefixSize is the length in bytes of a frame's length prefix.
const PrefixSize = 4

// AppendResponseHeader starts an answer: room for the length prefix, which
// [Finish] fills in, the correlation id, and for a flexible body an empty tag
// section. The answer to ApiVersions never has the tag section.
func AppendResponseHeader(dst []byte, key int16, flexible bool, correlationID int32) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID)) // #nosec G115 -- the same bits, as the protocol has them
	if flexible && key != keyApiVersions {
		dst = append(dst, 0)
	}
	return dst
}

// Finish writes the length prefix of an answer of size bytes, itself included, of
// which answer holds the beginning.
func Finish(answer []byte, size int) {
	binary.BigEndian.PutUint32(answer, uint32(size-PrefixSize)) // #nosec G115 -- the same bits, as the protocol has them
}
