package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What Check refuses. Every error it returns wraps one of the two.
var (
	// ErrMalformed: a field runs past the end of the body, a count cannot be
	// paid by the bytes that follow it, or a null stands where none may.
	ErrMalformed = errors.New("malformed request body")
	// ErrTooCostly: decoding the body would take more memory than allowed.
	ErrTooCostly = errors.New("request would decode to more memory than request_memory")
)

// Result is what a walk over a body found.
type Result struct {
	// Cost is the memory in bytes that decoding the body takes beyond the body
	// itself.
	Cost int64
	// Rest is the number of bytes after the last field. The codec ignores
	// them, as Kafka does: some clients are known to send one.
	Rest int
}

// Check walks body, which is of the given version, and refuses it when it does
// not fit the shape or when decoding it would cost more than limit bytes. It
// allocates nothing unless it refuses.
func (s Shape) Check(version int16, body []byte, limit int64) (Result, error) {
	w := walk{body: body, version: version, flexible: version >= s.flexible, limit: limit}
	if err := w.fields(s.fields, w.flexible); err != nil {
		return Result{Cost: w.cost, Rest: len(w.body)}, err
	}
	return Result{Cost: w.cost, Rest: len(w.body)}, nil
}

// Smallest returns the length in bytes of the smallest body of a version.
func (s Shape) Smallest(version int16) int {
	return smallest(s.fields, version, version >= s.flexible, version >= s.flexible)
}

// The cost of strings and tags, as the codec and Go's allocator make them:
// strings are copied into size classes, a nullable string is a pointer to a
// 16-byte header, tags are kept in a map of byte slices.
const (
	allocStep    = 16
	stringHeader = 16
	tagMap       = 336
	tagMapSlots  = 8
	tagEach      = 180
)

type walk struct {
	body     []byte // what is left
	version  int16
	flexible bool
	cost     int64
	limit    int64
}

func (w *walk) charge(n int64) error {
	if w.cost += n; w.cost > w.limit {
		return fmt.Errorf("%w: over %d bytes", ErrTooCostly, w.limit)
	}
	return nil
}

func (w *walk) skip(n int64) error {
	if n > int64(len(w.body)) {
		return fmt.Errorf("%w: a field of %d bytes with %d left", ErrMalformed, n, len(w.body))
	}
	w.body = w.body[n:]
	return nil
}

// fields walks one structure; tagged says whether it ends in a tag section.
func (w *walk) fields(fields []Field, tagged bool) error {
	for i := range fields {
		if f := &fields[i]; f.at(w.version) {
			if err := w.field(f); err != nil {
				return err
			}
		}
	}
	if tagged {
		return w.tags()
	}
	return nil
}

func (w *walk) field(f *Field) error {
	switch f.kind {
	case kindFixed:
		return w.skip(f.size)
	case kindString:
		n, err := w.length(2, f)
		if err != nil || n < 0 {
			return err
		}
		cost := (n + allocStep - 1) / allocStep * allocStep
		// A string that is nullable at any version is a pointer at all of them.
		if f.nullable != never {
			cost += stringHeader
		}
		if err := w.skip(n); err != nil {
			return err
		}
		return w.charge(cost)
	case kindBytes:
		n, err := w.length(4, f)
		if err != nil || n < 0 {
			return err
		}
		return w.skip(n)
	case kindStruct:
		return w.optional(f)
	default:
		return w.array(f)
	}
}

func (w *walk) optional(f *Field) error {
	if len(w.body) == 0 {
		return fmt.Errorf("%w: no presence byte", ErrMalformed)
	}
	present := int8(w.body[0]) // #nosec G115 -- the same bits, as the protocol has them
	w.body = w.body[1:]
	if present < 0 {
		return nil
	}
	if err := w.charge(f.size); err != nil {
		return err
	}
	return w.fields(f.elem, w.flexible)
}

func (w *walk) array(f *Field) error {
	n, err := w.length(4, f)
	if err != nil || n <= 0 {
		return err
	}
	tagged := w.flexible && f.tagged
	least := int64(smallest(f.elem, w.version, w.flexible, tagged))
	// The count is compared before anything is reserved or multiplied. An
	// element without a byte of its own would make any count payable.
	if least == 0 || n > int64(len(w.body))/least {
		return fmt.Errorf("%w: %d elements of at least %d bytes in %d", ErrMalformed, n, least, len(w.body))
	}
	if err := w.charge(n * f.size); err != nil {
		return err
	}
	for range n {
		if err := w.fields(f.elem, tagged); err != nil {
			return err
		}
	}
	return nil
}

// length reads the length or count before a field: a varint of n+1 at flexible
// versions, else a big-endian integer of the given width. Null is −1.
func (w *walk) length(width int, f *Field) (int64, error) {
	var n int64
	switch {
	case w.flexible:
		u, err := w.uvarint()
		if err != nil {
			return 0, err
		}
		n = int64(u) - 1
	case len(w.body) < width:
		return 0, fmt.Errorf("%w: no room for a length", ErrMalformed)
	case width == 2:
		n = int64(int16(binary.BigEndian.Uint16(w.body))) // #nosec G115 -- the same bits, as the protocol has them
		w.body = w.body[2:]
	default:
		n = int64(int32(binary.BigEndian.Uint32(w.body))) // #nosec G115 -- the same bits, as the protocol has them
		w.body = w.body[4:]
	}
	if n < -1 || n == -1 && f.nullable > w.version {
		return 0, fmt.Errorf("%w: length %d", ErrMalformed, n)
	}
	return n, nil
}

// uvarint reads an unsigned varint of at most 5 bytes and 32 bits, which is as
// far as the codec reads.
func (w *walk) uvarint() (uint32, error) {
	u, n := binary.Uvarint(w.body)
	if n <= 0 || n > binary.MaxVarintLen32 || u > 1<<32-1 {
		return 0, fmt.Errorf("%w: a varint that does not end or is too long", ErrMalformed)
	}
	w.body = w.body[n:]
	return uint32(u), nil
}

// tags walks a tag section: count, then tag number, length and bytes of each.
func (w *walk) tags() error {
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	if int64(n) > int64(len(w.body))/2 {
		return fmt.Errorf("%w: %d tags in %d bytes", ErrMalformed, n, len(w.body))
	}
	cost := int64(tagMap)
	if n > tagMapSlots {
		cost = int64(n) * tagEach
	}
	if err := w.charge(cost); err != nil {
		return err
	}
	for range n {
		if _, err := w.uvarint(); err != nil {
			return err
		}
		size, err := w.uvarint()
		if err != nil {
			return err
		}
		if err := w.skip(int64(size)); err != nil {
			return err
		}
	}
	return nil
}

// smallest sums the smallest encodings of the fields that a version has.
func smallest(fields []Field, version int16, flexible, tagged bool) int {
	sum := 0
	for i := range fields {
		f := &fields[i]
		if !f.at(version) {
			continue
		}
		switch {
		case f.kind == kindFixed:
			sum += int(f.size)
		case f.kind == kindStruct || flexible:
			sum++
		case f.kind == kindString:
			sum += 2
		default:
			sum += 4
		}
	}
	if tagged {
		sum++
	}
	return sum
}
