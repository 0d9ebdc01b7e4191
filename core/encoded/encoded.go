// Package encoded computes how long parts of a response are on the wire, so
// that an answer can be priced from lengths before anything is built.
package encoded

import "math/bits"

// Layout is how a version writes lengths: Legacy with fixed widths, Flexible
// with varints and tag sections (KIP-482).
type Layout bool

const (
	Legacy   Layout = false
	Flexible Layout = true
)

// At returns the layout of a version of a key that is flexible from the given
// version on.
func At(version, flexibleFrom int16) Layout { return version >= flexibleFrom }

// Header is the length of the response header.
func (l Layout) Header() int64 { return 4 + l.Tags() }

// Tags is the length of a tag section without tags.
func (l Layout) Tags() int64 {
	if l {
		return 1
	}
	return 0
}

// String is the length of a string of n bytes.
func (l Layout) String(n int) int64 { return l.prefix(n, 2) + int64(n) }

// Array is the length of the count of an array of n elements.
func (l Layout) Array(n int) int64 { return l.prefix(n, 4) }

// Null is the length of a null string.
func (l Layout) Null() int64 { return l.prefix(-1, 2) }

// NullableString is the length of a nullable string.
func (l Layout) NullableString(s *string) int64 {
	if s == nil {
		return l.Null()
	}
	return l.String(len(*s))
}

// prefix is the length of a length: a varint of n+1, or width bytes.
func (l Layout) prefix(n, width int) int64 {
	if !l {
		return int64(width)
	}
	return int64(bits.Len32(uint32(n+1)|1)+6) / 7 // #nosec G115 -- lengths of what is in memory: below 2^31
}
