package embedded

import (
	"bytes"
	"encoding/binary"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// The first byte of a key in pebble says what it is. Numbers are big-endian, so
// that keys sort as what they stand for.
const (
	keyFormat    = 'f' // → version of this layout
	keyCluster   = 'c' // → cluster id
	keyProducers = 'n' // → first producer id that is not reserved
	keyRun       = 'm' // → how the last owner left the store
	keyTopic     = 't' // topic → topicValue
	keyDoomed    = 'x' // topic → "": deleted, its files may be left
	keyState     = 's' // topic, partition → partitionState
	keyDropped   = 'd' // topic, partition, base offset, generation unless 0 → "": no longer of use, the file may be left
	keySegment   = 'g' // topic, partition, base offset → segmentValue
	keyCompacted = 'l' // topic, partition, base offset → compactedValue: the segment is one that compaction wrote
	keyClean     = 'k' // topic, partition → offset before which the log is compacted
	keyIndex     = 'i' // topic, partition, offset → indexValue
	keyProducer  = 'r' // topic, partition, producer id → producerValue
	keyOffset    = 'o' // length of group, group, topic, partition → offsetValue
	keyStart     = 'b' // topic, partition → log start that DeleteRecords has set
	keyGroup     = 'u' // group → version, state
	keyEntry     = 'e' // length of kind, kind, name → value of backend.Entries
)

func plainKey(kind byte) []byte { return []byte{kind} }

func topicKey(kind byte, id uuid.UUID) []byte {
	return append([]byte{kind}, id[:]...)
}

func partitionKey(kind byte, id uuid.UUID, index int32) []byte {
	return binary.BigEndian.AppendUint32(topicKey(kind, id), uint32(index))
}

// numberKey is a key of one partition that ends with an offset or producer id.
func numberKey(kind byte, id uuid.UUID, index int32, n int64) []byte {
	return binary.BigEndian.AppendUint64(partitionKey(kind, id, index), uint64(n))
}

const numberKeySize = 1 + 16 + 4 + 8

// lastNumber is the number that ends a key of numberKey.
func lastNumber(key []byte) int64 {
	return int64(binary.BigEndian.Uint64(key[numberKeySize-8:]))
}

// droppedKey is the key of the note that a file of a segment is to be removed.
func droppedKey(id uuid.UUID, index int32, base int64, generation uint32) []byte {
	key := numberKey(keyDropped, id, index, base)
	if generation == 0 {
		return key
	}
	return binary.BigEndian.AppendUint32(key, generation)
}

// splitDropped is the reverse of droppedKey; ok is false for a key of another make.
func splitDropped(key []byte) (base int64, generation uint32, ok bool) {
	switch len(key) {
	case numberKeySize:
	case numberKeySize + 4:
		generation = binary.BigEndian.Uint32(key[numberKeySize:])
	default:
		return 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(key[numberKeySize-8:])), generation, true
}

// splitPartition returns topic and partition of a key of partitionKey or
// numberKey.
func splitPartition(key []byte) (uuid.UUID, int32) {
	return uuid.UUID(key[1:17]), int32(binary.BigEndian.Uint32(key[17:21]))
}

// groupKey begins the keys of all offsets of a group. The length stands before
// the name, so that no group's keys begin with another's.
func groupKey(group string) []byte {
	key := binary.BigEndian.AppendUint32([]byte{keyOffset}, uint32(len(group)))
	return append(key, group...)
}

func offsetKey(group string, p backend.Partition) []byte {
	key := append(groupKey(group), p.Topic[:]...)
	return binary.BigEndian.AppendUint32(key, uint32(p.Index))
}

// entryKey is the key of an entry, or with an empty name the prefix of a kind.
func entryKey(kind, name string) []byte {
	key := binary.BigEndian.AppendUint32([]byte{keyEntry}, uint32(len(kind)))
	return append(append(key, kind...), name...)
}

// splitOffset is the reverse of offsetKey; ok is false for a key of another
// make.
func splitOffset(key []byte) (group string, p backend.Partition, ok bool) {
	if len(key) < 5 {
		return "", p, false
	}
	n := int(binary.BigEndian.Uint32(key[1:]))
	if len(key) != 5+n+20 {
		return "", p, false
	}
	rest := key[5+n:]
	return string(key[5 : 5+n]), backend.Partition{
		Topic: uuid.UUID(rest[:16]), Index: int32(binary.BigEndian.Uint32(rest[16:])),
	}, true
}

// prefixEnd is the first key behind all that begin with prefix.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
