package hostile

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// prefix is the length of a frame's length.
const prefix = 4

// mutator damages frames.
type mutator struct {
	*rand.Rand
	// other returns a frame to take pieces from.
	other func() []byte
}

// counts are lengths and counts as attackers like them, and values next to limits.
var counts = [][]byte{
	{0xff, 0xff, 0xff, 0xff, 0x0f}, {0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, {0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff},
	{0xff, 0xff, 0xff, 0xfe}, {0x80, 0, 0, 0}, {0x7f, 0xff}, {0xff, 0xff}, {0x80, 0x00}, {0}, {1}, {0x7f}, {0xff},
	{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0},
}

// mutate returns a damaged copy of a frame. Most have a length again that is right.
func (m mutator) mutate(frame []byte) []byte {
	b := slices.Clone(frame)
	for range 1 + m.IntN(3) {
		b = m.once(b)
	}
	if len(b) > prefix && m.IntN(8) != 0 {
		binary.BigEndian.PutUint32(b, uint32(len(b)-prefix))
	}
	return b
}

// once makes one change.
func (m mutator) once(b []byte) []byte {
	if len(b) <= prefix {
		return m.once(m.other())
	}
	at := prefix + m.IntN(len(b)-prefix)
	switch m.IntN(10) {
	case 0, 1: // single bits
		for range 1 + m.IntN(8) {
			b[m.IntN(len(b))] ^= 1 << m.IntN(8)
		}
	case 2: // the end is missing
		b = b[:at]
	case 3: // the rest is another's
		if other := m.other(); len(other) > prefix {
			b = append(b[:at], other[prefix+m.IntN(len(other)-prefix):]...)
		}
	case 4: // a count over what was there
		copy(b[at:], counts[m.IntN(len(counts))])
	case 5: // a count that is inserted
		b = slices.Insert(b, at, counts[m.IntN(len(counts))]...)
	case 6: // a piece twice
		piece := slices.Clone(b[at:min(len(b), at+1+m.IntN(64))])
		b = slices.Insert(b, at, piece...)
	case 7: // a piece is missing
		b = slices.Delete(b, at, min(len(b), at+1+m.IntN(16)))
	case 8: // another key or version
		if len(b) >= prefix+4 {
			field := prefix + 2*m.IntN(2)
			binary.BigEndian.PutUint16(b[field:], uint16(m.IntN(100)-2))
		}
	case 9: // another length
		copy(b, counts[2+m.IntN(4)])
	}
	return b
}
