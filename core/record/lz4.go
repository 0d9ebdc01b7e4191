package record

import (
	"encoding/binary"
	"errors"
)

// The LZ4 frame format, as far as Java's Kafka client reads it: one frame of
// version 1 with independent blocks and without a dictionary.
const (
	lz4Magic         = 0x184D2204
	lz4Version       = 1 << 6
	lz4VersionMask   = 3 << 6
	lz4Independent   = 1 << 5
	lz4BlockChecksum = 1 << 4
	lz4ContentSize   = 1 << 3
	lz4Checksum      = 1 << 2
	lz4Reserved      = 1<<1 | 1<<0 // the lower one announces a dictionary
	// Block sizes 4 to 7 are 64 KiB, 256 KiB, 1 MiB and 4 MiB.
	lz4SmallestBlock = 4
	lz4Stored        = 1 << 31
)

var errLZ4 = errors.New("corrupt or unsupported lz4 frame")

// lz4Frame cuts the frame that data starts with, and returns the memory that
// decoding it takes: a block before and after. What follows the frame is not
// looked at, as in Kafka.
func lz4Frame(data []byte) ([]byte, int64, error) {
	if len(data) < 7 || binary.LittleEndian.Uint32(data) != lz4Magic {
		return nil, 0, errLZ4
	}
	flags, size := data[4], data[5]>>4&7
	if flags&lz4VersionMask != lz4Version || flags&lz4Independent == 0 || flags&lz4Reserved != 0 ||
		size < lz4SmallestBlock || data[5]&^(7<<4) != 0 {
		return nil, 0, errLZ4
	}
	at, behind := 7, 0
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	if flags&lz4BlockChecksum != 0 {
		behind = 4
	}
	largest := uint32(64<<10) << (2 * (size - lz4SmallestBlock))
	for {
		if len(data) < at+4 {
			return nil, 0, errLZ4
		}
		n := binary.LittleEndian.Uint32(data[at:]) &^ lz4Stored
		at += 4
		if n == 0 {
			break
		}
		if n > largest {
			return nil, 0, errLZ4
		}
		at += int(n) + behind
	}
	if flags&lz4Checksum != 0 {
		at += 4
	}
	if len(data) < at {
		return nil, 0, errLZ4
	}
	return data[:at], 2 * int64(largest), nil
}
