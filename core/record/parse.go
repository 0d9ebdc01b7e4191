package record

import (
	"encoding/binary"
	"fmt"
)

// smallestLength is the smallest record in the formats of magic 0 and 1; a
// length below it is broken whatever the magic.
const smallestLength = 14

// ErrShort: the bytes end before the batch does. It is an ErrInvalid.
var ErrShort = fmt.Errorf("%w: cut short", ErrInvalid)

// Parse reads the header of the first batch in b and returns the batch and the
// bytes after it. Lengths and the magic are checked, nothing else: the CRC is
// not computed and no record is looked at. It allocates nothing unless it
// fails.
//
// ErrShort: b does not hold a whole batch. ErrInvalid: a batch of magic 0 or 1.
// ErrCorrupt: a magic above 2, or a length that has no room for a header. After
// an error the batch has no fields, and its bytes are those that the length
// field claims, as far as they are there.
func Parse(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) < lengthOverhead {
		return Batch{Bytes: b}, nil, fmt.Errorf("%w: %d bytes", ErrShort, len(b))
	}
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	size := length + lengthOverhead
	if length < smallestLength {
		return Batch{Bytes: b}, nil, fmt.Errorf("%w: length %d", ErrCorrupt, length)
	}
	if len(b) <= atMagic {
		return Batch{Bytes: b}, nil, fmt.Errorf("%w: %d bytes", ErrShort, len(b))
	}
	h := b[:min(size, int64(len(b))):min(size, int64(len(b)))]
	rest = b[len(h):]
	switch magic := int8(b[atMagic]); {
	case magic < 0 || magic > 2:
		return Batch{Bytes: h}, rest, fmt.Errorf("%w: magic %d", ErrCorrupt, magic)
	case size > int64(len(b)):
		return Batch{Bytes: h}, rest, fmt.Errorf("%w: %d bytes of %d", ErrShort, len(b), size)
	case magic < 2:
		return Batch{Bytes: h}, rest, fmt.Errorf("%w: message format %d is no longer written", ErrInvalid, magic)
	case size < HeaderSize:
		return Batch{Bytes: h}, rest, fmt.Errorf("%w: length %d is below a header's", ErrCorrupt, length)
	}
	return Batch{
		Bytes:           h,
		BaseOffset:      int64(binary.BigEndian.Uint64(h)),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(h[atLeaderEpoch:])),
		CRC:             binary.BigEndian.Uint32(h[atCRC:]),
		Attributes:      int16(binary.BigEndian.Uint16(h[atAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(h[atLastDelta:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(h[atBaseTimestamp:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(h[atMaxTimestamp:])),
		ProducerID:      int64(binary.BigEndian.Uint64(h[atProducerID:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(h[atProducerEpoch:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(h[atBaseSequence:])),
		Count:           int32(binary.BigEndian.Uint32(h[atCount:])),
	}, rest, nil
}
