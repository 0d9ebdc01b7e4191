package standintest

import "encoding/binary"

// reader takes a request apart. Once something was missing or wrong, failed is
// the status to refuse the request with and everything after is zero.
type reader struct {
	rest   []byte
	failed uint32
}

func (r *reader) take(n int) []byte {
	if r.failed == 0 && len(r.rest) < n {
		r.failed = errInvalidCommand
	}
	if r.failed != 0 {
		return make([]byte, min(n, 8))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// string8 has its length in one byte.
func (r *reader) string8() string {
	n := int(r.u8())
	if r.failed != 0 {
		return ""
	}
	return string(r.take(n))
}

// name is a string8 that must not be empty.
func (r *reader) name() string {
	name := r.string8()
	if r.failed == 0 && name == "" {
		r.failed = errInvalidFormat
	}
	return name
}

// identifier names a stream, a topic or a consumer, by number or by name.
type identifier struct {
	numeric bool
	number  uint32
	name    string
}

const (
	kindNumeric = 1
	kindString  = 2
)

func (r *reader) identifier() identifier {
	kind := r.u8()
	value := r.string8()
	switch {
	case r.failed != 0:
	case kind == kindNumeric && len(value) == 4:
		return identifier{numeric: true, number: binary.LittleEndian.Uint32([]byte(value))}
	case kind == kindString && value != "":
		return identifier{name: value}
	case kind == kindNumeric, kind == kindString:
		r.failed = errInvalidFormat
	default:
		r.failed = errInvalidCommand
	}
	return identifier{}
}

// writer puts a reply together.
type writer []byte

func (w *writer) u8(v uint8)   { *w = append(*w, v) }
func (w *writer) u32(v uint32) { *w = binary.LittleEndian.AppendUint32(*w, v) }
func (w *writer) u64(v uint64) { *w = binary.LittleEndian.AppendUint64(*w, v) }

func (w *writer) string8(s string) {
	w.u8(uint8(len(s)))
	*w = append(*w, s...)
}

func (w *writer) string32(s string) {
	w.u32(uint32(len(s)))
	*w = append(*w, s...)
}
