package embedded

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Values are a version byte, then fixed fields, big-endian. A value of another
// version or length is damage, or the work of a later release.

const valueVersion = 1

var errValue = errors.New("a value that this version cannot read")

// topicValue is kept as JSON: it is small, rare, and the one thing a human may
// want to read in a rescued store.
type topicValue struct {
	Name       string            `json:"name"`
	Partitions int32             `json:"partitions"`
	Overrides  map[string]string `json:"configs,omitempty"`
}

func (v topicValue) encode() ([]byte, error) { return json.Marshal(v) }

func decodeTopic(b []byte) (v topicValue, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

// partitionState is how far a partition is known good.
type partitionState struct {
	start   int64 // log start
	next    int64 // offset behind the last record
	active  int64 // base offset of the segment that is written to; −1: none
	size    int64 // its length in bytes up to next
	maxTime int64 // its largest timestamp, ms; −1: none
	created int64 // when it was begun, ms
	durable int64 // segments whose base offset is below are on the disk
	synced  bool  // all of the above is on the disk too
}

func (v partitionState) encode() []byte {
	b := appendNumbers(nil, v.start, v.next, v.active, v.size, v.maxTime, v.created, v.durable)
	if v.synced {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeState(b []byte) (v partitionState, err error) {
	if len(b) != 1+7*8+1 {
		return v, errValue
	}
	err = numbers(b[:len(b)-1], &v.start, &v.next, &v.active, &v.size, &v.maxTime, &v.created, &v.durable)
	v.synced = b[len(b)-1] == 1
	return v, err
}

// segmentValue describes a segment that is no longer written to.
type segmentValue struct {
	next    int64 // offset behind its last record
	size    int64 // length in bytes up to there
	maxTime int64 // largest timestamp, ms; −1: none
	created int64 // when it was begun, ms
}

func (v segmentValue) encode() []byte {
	return appendNumbers(nil, v.next, v.size, v.maxTime, v.created)
}

func decodeSegment(b []byte) (v segmentValue, err error) {
	return v, numbers(b, &v.next, &v.size, &v.maxTime, &v.created)
}

// compactedValue describes a segment that compaction wrote. It was on the disk before
// this was.
type compactedValue struct {
	segmentValue
	// generation tells the segment's file from those before it of the same base
	// offset. It is never 0.
	generation uint32
}

func (v compactedValue) encode() []byte {
	return appendNumbers(nil, v.next, v.size, v.maxTime, v.created, int64(v.generation))
}

func decodeCompacted(b []byte) (v compactedValue, err error) {
	var generation int64
	err = numbers(b, &v.next, &v.size, &v.maxTime, &v.created, &generation)
	v.generation = uint32(generation)
	if err == nil && (generation < 1 || generation != int64(v.generation)) {
		err = errValue
	}
	return v, err
}

// entry is one place in the sparse index of a segment: a batch begins there.
type entry struct {
	offset  int64 // base offset of the batch
	pos     int64 // where it begins in the segment
	maxTime int64 // largest timestamp of the segment before it, ms; −1: none
}

// segmentID says which segment an index entry is of.
type segmentID struct {
	base       int64
	generation uint32
}

// encode gives the value of the entry; its offset is in the key.
func (e entry) encode(of segmentID) []byte {
	b := appendNumbers(nil, of.base, e.pos, e.maxTime)
	if of.generation == 0 {
		return b
	}
	return binary.BigEndian.AppendUint32(b, of.generation)
}

func decodeIndex(key, b []byte) (of segmentID, e entry, err error) {
	const plain = 1 + 3*8
	if len(key) != numberKeySize {
		return of, e, errValue
	}
	e.offset = lastNumber(key)
	if len(b) == plain+4 {
		of.generation = binary.BigEndian.Uint32(b[plain:])
		b = b[:plain]
	}
	return of, e, numbers(b, &of.base, &e.pos, &e.maxTime)
}

func appendNumbers(b []byte, ns ...int64) []byte {
	b = append(b, valueVersion)
	for _, n := range ns {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func numbers(b []byte, ns ...*int64) error {
	if len(b) != 1+8*len(ns) || b[0] != valueVersion {
		return errValue
	}
	for i, n := range ns {
		*n = int64(binary.BigEndian.Uint64(b[1+8*i:]))
	}
	return nil
}
