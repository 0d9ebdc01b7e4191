package embedded

import (
	"encoding/binary"
	"errors"

	"github.com/iggykafka/gateway/core/record"
)

// header is what the walk over a segment needs of a batch.
type header struct {
	base    int64
	size    int64 // of the whole batch, in bytes
	last    int64 // offset of its last record
	maxTime int64
}

// errDamaged: bytes that should be a batch are none.
var errDamaged = errors.New("no record batch where one should be")

// parseHeader reads the header of a stored batch; b is at least as long as a
// header.
func parseHeader(b []byte) (header, error) {
	h := header{
		base:    int64(binary.BigEndian.Uint64(b)),
		size:    int64(int32(binary.BigEndian.Uint32(b[8:]))) + 12,
		maxTime: int64(binary.BigEndian.Uint64(b[35:])),
	}
	delta := int32(binary.BigEndian.Uint32(b[23:]))
	h.last = h.base + int64(delta)
	if b[16] != 2 || h.size < record.HeaderSize || h.base < 0 || delta < 0 {
		return h, errDamaged
	}
	return h, nil
}
