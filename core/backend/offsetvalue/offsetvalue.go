// Package offsetvalue is the form in which both stores keep a committed offset: a
// version byte, then offset, leader epoch and time of the commit (ms since the epoch),
// big-endian, then the metadata.
package offsetvalue

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	version = 1
	// fixed is the length of all but the metadata, in bytes.
	fixed = 1 + 8 + 4 + 8
)

// ErrUnreadable: a value is damaged, or a later release has written it.
var ErrUnreadable = errors.New("a value that this version cannot read")

// Encode returns the value of a committed offset.
func Encode(c backend.CommittedOffset) []byte {
	b := make([]byte, 0, fixed+len(c.Metadata))
	b = binary.BigEndian.AppendUint64(append(b, version), uint64(c.Offset))
	b = binary.BigEndian.AppendUint32(b, uint32(c.LeaderEpoch))
	b = binary.BigEndian.AppendUint64(b, uint64(c.CommitTime.UnixMilli()))
	return append(b, c.Metadata...)
}

// Decode returns the committed offset of a value; ErrUnreadable.
func Decode(b []byte) (c backend.CommittedOffset, err error) {
	if len(b) < fixed || b[0] != version {
		return c, ErrUnreadable
	}
	c.Offset = int64(binary.BigEndian.Uint64(b[1:]))
	c.LeaderEpoch = int32(binary.BigEndian.Uint32(b[9:]))
	c.CommitTime = time.UnixMilli(int64(binary.BigEndian.Uint64(b[13:])))
	c.Metadata = string(b[fixed:])
	return c, nil
}
