// Package guard checks raw request bodies before they are decoded, and keeps
// the process-wide memory budget.
//
// A small legal frame can decode to far more memory than it holds: 64 KiB of
// Metadata request become 6 MB of Go values. So each handler declares the
// [Shape] of its request bodies, and [Shape.Check] walks a body by it, without
// allocating, before the codec sees it: every count must be payable by the
// bytes that follow it, and the memory that decoding will take is summed up
// exactly, to be charged to the sender's account ([Budget]) or refused.
//
// Check returns an error and never replies: what a refused body gets is the
// handler's policy.
package guard

import "reflect"

// Shape describes the body of a request, field by field in wire order, at
// every version. The zero Shape describes a body without fields that is never
// flexible.
type Shape struct {
	flexible int16
	fields   []Field
}

// NeverFlexible is the flexibleFrom of a key whose layout predates KIP-482 at
// every served version.
const NeverFlexible int16 = 1<<15 - 1

// Body returns the shape of a request whose layout is flexible (KIP-482:
// compact lengths and tag sections) from the given version on.
func Body(flexibleFrom int16, fields ...Field) Shape {
	return Shape{flexible: flexibleFrom, fields: fields}
}

type kind uint8

const (
	kindFixed  kind = iota // size bytes
	kindString             // length prefix and bytes; decoded into a copy
	kindBytes              // length prefix and bytes; decoded as an alias
	kindArray              // count and elements
	kindStruct             // one presence byte and the fields
)

// Field is one field of a Shape: a type from the constructors below, narrowed
// to some versions by [Field.Since], [Field.Until] and [Field.NullableSince].
type Field struct {
	kind     kind
	size     int64 // kindFixed: bytes on the wire; else bytes of the Go value
	since    int16
	until    int16 // last version that has the field
	nullable int16 // first version at which the field may be null
	tagged   bool  // kindArray, kindStruct: elements end in a tag section when flexible
	elem     []Field
}

const never = NeverFlexible

func field(k kind, size int64, elem ...Field) Field {
	return Field{kind: k, size: size, until: never, nullable: never, elem: elem}
}

// The fixed-width types of the protocol, named by their width on the wire.
func Bool() Field    { return field(kindFixed, 1) }
func Int8() Field    { return field(kindFixed, 1) }
func Int16() Field   { return field(kindFixed, 2) }
func Int32() Field   { return field(kindFixed, 4) }
func Int64() Field   { return field(kindFixed, 8) }
func Float64() Field { return field(kindFixed, 8) }
func UUID() Field    { return field(kindFixed, 16) }

// String is a string; use NullableSince for a nullable one.
func String() Field { return field(kindString, 0) }

// Bytes is a byte array or a records field: the decoder aliases it.
func Bytes() Field { return field(kindBytes, 0) }

// Array is an array whose elements decode to values of the Go type E and have
// the given fields on the wire:
//
//	guard.Array[string](guard.String())
//	guard.Array[kmsg.MetadataRequestTopic](guard.UUID().Since(10), guard.String())
//
// Elements that are structures end in a tag section at flexible versions.
func Array[E any](fields ...Field) Field {
	e := reflect.TypeFor[E]()
	f := field(kindArray, int64(e.Size()), fields...) // #nosec G115 -- the same bits, as the protocol has them
	f.tagged = e.Kind() == reflect.Struct
	return f
}

// NullableStruct is a structure that is preceded by one byte, −1 for null, and
// decodes to a pointer to E.
func NullableStruct[E any](fields ...Field) Field {
	f := field(kindStruct, int64(reflect.TypeFor[E]().Size()), fields...) // #nosec G115 -- the same bits, as the protocol has them
	f.nullable, f.tagged = 0, true
	return f
}

// Since restricts the field to version v and later.
func (f Field) Since(v int16) Field { f.since = v; return f }

// Until restricts the field to version v and earlier.
func (f Field) Until(v int16) Field { f.until = v; return f }

// NullableSince allows null from version v on.
func (f Field) NullableSince(v int16) Field { f.nullable = v; return f }

// Nullable allows null at every version.
func (f Field) Nullable() Field { return f.NullableSince(0) }

func (f Field) at(version int16) bool { return f.since <= version && version <= f.until }

// Arrays returns the smallest encoding in bytes of an element of each array
// that the version has, in wire order, an array before those inside it. It is
// for the test that compares shapes with the codec.
func (s Shape) Arrays(version int16) []int {
	return arrays(nil, s.fields, version, version >= s.flexible)
}

func arrays(dst []int, fields []Field, version int16, flexible bool) []int {
	for _, f := range fields {
		if !f.at(version) {
			continue
		}
		if f.kind == kindArray {
			dst = append(dst, smallest(f.elem, version, flexible, flexible && f.tagged))
		}
		dst = arrays(dst, f.elem, version, flexible)
	}
	return dst
}
