package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/golang/snappy"
)

// Snappy comes in two forms: one block, or the framing of snappy-java ("xerial")
// with a header of 16 bytes and blocks behind their lengths. The decoder is the
// strict one of golang/snappy: that of klauspost/compress takes the s2 dialect
// too, which consumers do not understand.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = 16
	// snappySwell: no block decodes to more than this many times its length. A
	// copy of 64 bytes takes at least 3.
	snappySwell = 22
	// keptBlock is the largest buffer that waits for the next batch.
	keptBlock = 1 << 20
)

var errSnappy = errors.New("corrupt snappy data")

func xerial(data []byte) bool {
	return len(data) >= xerialHeader && bytes.HasPrefix(data, []byte(xerialMagic))
}

// nextSnappy splits the first block off.
func nextSnappy(data []byte, framed bool) (block, rest []byte, size int, err error) {
	block = data
	if framed {
		if len(data) < 4 {
			return nil, nil, 0, errSnappy
		}
		n := int64(binary.BigEndian.Uint32(data))
		if n > int64(len(data)-4) {
			return nil, nil, 0, errSnappy
		}
		block, rest = data[4:4+n], data[4+n:]
	}
	size, err = snappy.DecodedLen(block)
	if err != nil || size > snappySwell*len(block) {
		return nil, nil, 0, errSnappy
	}
	return block, rest, size, nil
}

// snappyMemory returns the size of the largest decoded block.
func snappyMemory(data []byte) (int64, error) {
	framed := xerial(data)
	if framed {
		data = data[xerialHeader:]
	}
	largest := 0
	for len(data) > 0 {
		_, rest, size, err := nextSnappy(data, framed)
		if err != nil {
			return 0, err
		}
		data, largest = rest, max(largest, size)
	}
	return int64(largest), nil
}

// snappyReader decodes block by block.
type snappyReader struct {
	data   []byte
	framed bool
	block  []byte // decoded and not read yet
	mem    []byte
}

func (r *snappyReader) reset(data []byte) {
	r.data, r.framed, r.block = data, xerial(data), nil
	if r.framed {
		r.data = data[xerialHeader:]
	}
	if cap(r.mem) > keptBlock {
		r.mem = nil
	}
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if len(r.data) == 0 {
			return 0, io.EOF
		}
		block, rest, size, err := nextSnappy(r.data, r.framed)
		if err != nil {
			return 0, err
		}
		if size > cap(r.mem) {
			r.mem = make([]byte, size)
		}
		if r.block, err = snappy.Decode(r.mem[:cap(r.mem)], block); err != nil {
			return 0, err
		}
		r.data = rest
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}
