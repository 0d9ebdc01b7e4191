package journal

import (
	"encoding/binary"
	"time"
)

// decoder takes a body apart. After the first fault it gives zeros.
type decoder struct {
	left   []byte
	failed bool
}

func (d *decoder) bytes(n uint64) []byte {
	if d.failed || n > uint64(len(d.left)) {
		d.failed = true
		return nil
	}
	b := d.left[:n:n]
	d.left = d.left[n:]
	return b
}

func (d *decoder) uvarint() uint64 {
	if d.failed {
		return 0
	}
	v, n := binary.Uvarint(d.left)
	if n <= 0 {
		d.failed = true
		return 0
	}
	d.left = d.left[n:]
	return v
}

func (d *decoder) uint32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) string() string { return string(d.bytes(d.uvarint())) }

// count reads how many entries of at least size bytes follow.
func (d *decoder) count(size uint64) uint64 {
	n := d.uvarint()
	if n > uint64(len(d.left))/size {
		d.failed = true
		return 0
	}
	return n
}

// change reads one change; its value aliases what is read.
func (d *decoder) change() (key, value []byte) {
	key = d.bytes(d.uvarint())
	if size := d.uvarint(); size > 0 {
		value = d.bytes(size - 1)
	}
	return key, value
}

// changes checks a list of changes and returns it as it is, so that it costs no
// memory until it is applied.
func (d *decoder) changes() []byte {
	list := d.left
	for range d.count(2) {
		if d.change(); d.failed {
			return nil
		}
	}
	return list[:len(list)-len(d.left)]
}

// each goes through a list that has been checked.
func each(list []byte, do func(key, value []byte)) {
	d := decoder{left: list}
	for range d.count(2) {
		do(d.change())
	}
}

func (l Lease) append(b []byte) []byte {
	b = appendString(b, l.Host)
	b = binary.AppendUvarint(b, uint64(l.PID))
	b = binary.AppendVarint(b, l.Since.UnixMilli())
	b = binary.AppendUvarint(b, uint64(len(l.addresses)))
	for _, a := range l.addresses {
		b = appendString(b, a)
	}
	return b
}

func (d *decoder) lease() Lease {
	l := Lease{Host: d.string(), PID: int(d.uvarint())}
	since, n := binary.Varint(d.left)
	if d.failed || n <= 0 {
		d.failed = true
		return Lease{}
	}
	d.left = d.left[n:]
	l.Since = time.UnixMilli(since).UTC()
	for range min(d.count(1), maxAddresses) {
		l.addresses = append(l.addresses, d.string())
	}
	return l
}
