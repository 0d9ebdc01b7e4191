package record

import (
	"encoding/binary"
	"fmt"
)

// smallestLength is the smallest record in the formats of magic 0 and 1; a length below it is
// broken whatever the magic.
const smallestLength = 14

// Parse reads the header of the first batch in b and returns the batch and the
// bytes after it. Lengths and the magic are checked, nothing else: the CRC is
// not computed and no record is looked at. It allocates nothing unless it
// fails.
//
// ErrInvalid: b does not hold a whole batch, or one of magic 0 or 1.
// ErrCorrupt: a magic above 2, or a length that has no room for a header; the
// returned batch then holds the bytes that the length field claims, as far as
// they are there, and no fields.
func Parse(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) <= atMagic {
		return Batch{}, b, fmt.Errorf("%w: %d bytes hold no batch", ErrInvalid, len(b))
	}
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	magic := int8(b[atMagic])
	size := length + lengthOverhead
	switch {
	case magic == 0 || magic == 1:
		return Batch{}, b, fmt.Errorf("%w: message format %d is no longer written", ErrInvalid, magic)
	case length < smallestLength:
		return Batch{Bytes: b}, nil, fmt.Errorf("%w: length %d", ErrCorrupt, length)
	case size > int64(len(b)):
		return Batch{}, b, fmt.Errorf("%w: cut short, %d bytes of %d", ErrInvalid, len(b), size)
	case magic != 2:
		return Batch{Bytes: b[:size]}, b[size:], fmt.Errorf("%w: magic %d", ErrCorrupt, magic)
	case size < HeaderSize:
		return Batch{Bytes: b[:size]}, b[size:], fmt.Errorf("%w: length %d is below a header's", ErrCorrupt, length)
	}
	h := b[:size:size]
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
	}, b[size:], nil
}
