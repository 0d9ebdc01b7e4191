package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/google/uuid"
)

// A record is the payload of one message. README.md has the layout.

const (
	magic         = "KGJ" // no other message in these topics begins with it
	recordVersion = 1
	// headerSize: magic 3, version 1, CRC 4, kind 1, owner 16, seq 8, acked 8.
	headerSize = 41
	crcAt      = 4
	crcEnd     = 8
)

// MaxCommit bounds the encoded changes of one Commit, in bytes: they are one
// message, and Iggy takes 64,000,000 bytes.
const MaxCommit = 32 << 20

// The bounds of what a lease may say of its owner.
const (
	maxHost      = 255
	maxAddresses = 64
)

type kind uint8

const (
	// kindBegin is the first record of a generation.
	kindBegin kind = iota + 1
	// kindClaim makes its writer the owner when nothing was written since the
	// record that it has seen last.
	kindClaim
	// kindRenew says that the owner lives.
	kindRenew
	// kindRelease gives the lease back.
	kindRelease
	// kindChanges is a transaction, or a piece of a generation's first content.
	kindChanges
	// kindComplete ends the first content.
	kindComplete
	// kindSeal ends a generation and names the next.
	kindSeal
	// kindMark says that the generation before was sealed in favour of this one.
	kindMark
	kindEnd // past the last
)

// none stands where an offset would be.
const none = math.MaxUint64

var (
	errForeign = errors.New("not a record of a gateway")
	errDamaged = errors.New("damaged record")
	// errVersion: a newer gateway wrote it.
	errVersion = errors.New("record of an unknown version")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a record, decoded. Only the fields of its kind are set.
type record struct {
	kind  kind
	owner uuid.UUID
	// seq counts the records of one owner in one generation, from 1.
	seq uint64
	// acked is the last seq up to which all are stored for certain.
	acked uint64

	lease    Lease  // begin, claim, renew
	after    uint64 // claim: the offset of the last valid record, or none
	number   uint64 // begin: of this generation; seal: of the next
	previous uint64 // begin: the generation before, 0 for none
	pairs    uint64 // complete: the number of pairs
	sum      uint32 // complete: their checksum
	changes  []byte // changes: the encoded list, checked
}

// appendBody appends what follows the header.
func (r *record) appendBody(b []byte) []byte {
	switch r.kind {
	case kindBegin:
		b = binary.AppendUvarint(b, r.number)
		b = binary.AppendUvarint(b, r.previous)
		return r.lease.append(b)
	case kindClaim:
		b = binary.LittleEndian.AppendUint64(b, r.after)
		return r.lease.append(b)
	case kindRenew:
		return r.lease.append(b)
	case kindSeal:
		return binary.AppendUvarint(b, r.number)
	case kindComplete:
		b = binary.AppendUvarint(b, r.pairs)
		return binary.LittleEndian.AppendUint32(b, r.sum)
	case kindChanges:
		return append(b, r.changes...)
	}
	return b
}

// encode returns the payload.
func (r *record) encode() []byte {
	b := make([]byte, 0, headerSize+len(r.changes)+64)
	b = append(b, magic...)
	b = append(b, recordVersion, 0, 0, 0, 0, byte(r.kind))
	b = append(b, r.owner[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.seq)
	b = binary.LittleEndian.AppendUint64(b, r.acked)
	b = r.appendBody(b)
	binary.LittleEndian.PutUint32(b[crcAt:], checksum(b))
	return b
}

// checksum covers all but itself.
func checksum(payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(payload[:crcAt], castagnoli), castagnoli, payload[crcEnd:])
}

// decode reads a payload: errForeign, errVersion, errDamaged. What it allocates
// is bounded by the length of the payload.
func decode(payload []byte) (record, error) {
	if len(payload) < len(magic)+1 || string(payload[:len(magic)]) != magic {
		return record{}, errForeign
	}
	if v := payload[len(magic)]; v != recordVersion {
		return record{}, fmt.Errorf("%w (%d)", errVersion, v)
	}
	if len(payload) < headerSize || binary.LittleEndian.Uint32(payload[crcAt:]) != checksum(payload) {
		return record{}, errDamaged
	}
	r := record{
		kind:  kind(payload[crcEnd]),
		owner: uuid.UUID(payload[9:25]),
		seq:   binary.LittleEndian.Uint64(payload[25:]),
		acked: binary.LittleEndian.Uint64(payload[33:]),
	}
	d := decoder{left: payload[headerSize:]}
	r.body(&d)
	if d.failed || len(d.left) > 0 {
		return record{}, errDamaged
	}
	return r, nil
}

func (r *record) body(d *decoder) {
	switch r.kind {
	case kindBegin:
		r.number, r.previous = d.uvarint(), d.uvarint()
		r.lease = d.lease()
	case kindClaim:
		r.after = d.uint64()
		r.lease = d.lease()
	case kindRenew:
		r.lease = d.lease()
	case kindSeal:
		r.number = d.uvarint()
	case kindComplete:
		r.pairs = d.uvarint()
		r.sum = d.uint32()
	case kindChanges:
		r.changes = d.changes()
	case kindRelease, kindMark:
	default:
		d.failed = true
	}
}

// appendChanges appends count, and per change length and key, and length + 1 and
// value; a length of 0 deletes.
func appendChanges(b []byte, changes []Change) []byte {
	b = binary.AppendUvarint(b, uint64(len(changes)))
	for _, c := range changes {
		b = appendString(b, c.Key)
		if c.Value == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(c.Value))+1)
		b = append(b, c.Value...)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// changeSize is at least what a change takes in a record.
func changeSize(c Change) int { return len(c.Key) + len(c.Value) + 2*binary.MaxVarintLen32 }
