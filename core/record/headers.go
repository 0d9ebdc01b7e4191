package record

import "encoding/binary"

// Headers are the headers of a record, encoded as in a batch and in order; names
// may repeat. The zero value has none. They are read one after another, so that
// a record of millions of headers takes no memory but its own:
//
//	for h := r.Headers; h.Next(); {
//		use(h.Name, h.Value)
//	}
type Headers struct {
	// Name and Value are those of the header that Next has come to. A nil Value
	// is null. They alias what the headers were read from.
	Name, Value []byte

	left int32  // headers
	raw  []byte // of those that are left
}

// Len returns the number of headers that are left.
func (h *Headers) Len() int { return int(h.left) }

// Bytes returns how many bytes the headers that are left take in a batch, their
// number not counted.
func (h *Headers) Bytes() int { return len(h.raw) }

// Next reads the next header into Name and Value, and reports whether there was
// one.
func (h *Headers) Next() bool {
	if h.left == 0 {
		return false
	}
	h.left--
	h.Name, h.raw, _ = cutField(h.raw)
	h.Value, h.raw, _ = cutField(h.raw)
	return true
}

// Append adds a header behind those that are left; nil is a null value. It may
// write into the memory behind them, as append does.
func (h *Headers) Append(name, value []byte) {
	if name == nil {
		name = []byte{} // there are no null names
	}
	h.raw = appendField(appendField(h.raw, name), value)
	h.left++
}

// Reset leaves no header, and has Append use the memory again.
func (h *Headers) Reset() { *h = Headers{raw: h.raw[:0]} }

// cutField reads a length and as many bytes; nil for null. ok is false when they
// are not there.
func cutField(b []byte) (field, rest []byte, ok bool) {
	n, size := varint(b)
	switch {
	case size <= 0 || n != int64(int32(n)):
		return nil, nil, false
	case n < 0:
		return nil, b[size:], true
	case n > int64(len(b)-size):
		return nil, nil, false
	}
	end := size + int(n)
	return b[size:end:end], b[end:], true
}

// varint reads a zigzag varint; size is not positive when there is none.
func varint(b []byte) (v int64, size int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	return binary.Varint(b)
}

func appendField(b, field []byte) []byte {
	if field == nil {
		return append(b, 1) // −1
	}
	return append(binary.AppendVarint(b, int64(len(field))), field...)
}

// fieldSize returns how long a field becomes.
func fieldSize(field []byte) int {
	if field == nil {
		return 1
	}
	return varintSize(int64(len(field))) + len(field)
}
