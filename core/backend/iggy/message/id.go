package message

import (
	"encoding/binary"
	"math/rand/v2"
)

// An id says which record of an idempotent producer a message is: producer id (8
// bytes), epoch (2), sequence (4), all big-endian, and a tag (2). The tag tells
// such ids from random ones, and the first record of a batch from the others: a
// batch that is sent again is known by the sequences of both its ends (KIP-98),
// which the tail of a log shows because of it.
const (
	tagFirst uint16 = 0x4b46
	tagRest  uint16 = 0x4b66
)

// NewID returns the id of a record of an idempotent producer; first says that it
// is the first of its batch. It is never all zeros, which the server would take
// for none.
func NewID(producerID int64, epoch int16, sequence int32, first bool) ID {
	var id ID
	binary.BigEndian.PutUint64(id[0:], uint64(producerID))
	binary.BigEndian.PutUint16(id[8:], uint16(epoch))
	binary.BigEndian.PutUint32(id[10:], uint32(sequence))
	tag := tagRest
	if first {
		tag = tagFirst
	}
	binary.BigEndian.PutUint16(id[14:], tag)
	return id
}

// RandomID returns a random UUID (version 4) that ParseID does not take for an
// id of NewID.
func RandomID() ID {
	var id ID
	for {
		binary.NativeEndian.PutUint64(id[0:], rand.Uint64()) // #nosec G404 -- ids must differ, and are no secrets
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) // #nosec G404 -- ids must differ, and are no secrets
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if _, ok := tagOf(id); !ok {
			return id
		}
	}
}

func tagOf(id ID) (first, ok bool) {
	tag := binary.BigEndian.Uint16(id[14:])
	return tag == tagFirst, tag == tagFirst || tag == tagRest
}

// ParseID takes an id of NewID apart; ok is false for every other id that a
// gateway writes. An id of a native client may look like one by chance: see
// FromGateway.
func ParseID(id ID) (producerID int64, epoch int16, sequence int32, first, ok bool) {
	first, ok = tagOf(id)
	producerID = int64(binary.BigEndian.Uint64(id[0:]))
	epoch = int16(binary.BigEndian.Uint16(id[8:]))
	sequence = int32(binary.BigEndian.Uint32(id[10:]))
	if !ok || producerID < 0 || epoch < 0 || sequence < 0 {
		return -1, -1, -1, false, false
	}
	return producerID, epoch, sequence, first, true
}
