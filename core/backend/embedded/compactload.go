package embedded

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// loadCompacted reads which segments compaction wrote, and how far it has come.
func (s *Store) loadCompacted(each func(kind byte, size int, fn func(f *found, key, value []byte) error) error) error {
	err := each(keyCompacted, numberKeySize, func(f *found, key, value []byte) error {
		v, err := decodeCompacted(value)
		base := lastNumber(key)
		f.sealed[base], f.compacted[base] = v.segmentValue, v.generation
		return err
	})
	if err != nil {
		return err
	}
	return each(keyClean, numberKeySize-8, func(f *found, _, value []byte) error {
		if len(value) != 8 {
			return errValue
		}
		f.p.clean = int64(binary.BigEndian.Uint64(value))
		return nil
	})
}

// setClean adds to a batch how far the log is compacted.
func (p *partition) setClean(b *pebble.Batch, offset int64) error {
	return b.Set(partitionKey(keyClean, p.topic.id, p.index), binary.BigEndian.AppendUint64(nil, uint64(offset)), nil)
}
