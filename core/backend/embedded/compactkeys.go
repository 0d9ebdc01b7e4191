package embedded

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"

	"github.com/iggykafka/gateway/core/record"
)

// keyTable says where the latest record of each key is. It knows keys by half their
// SHA-256, so that nobody can make two that it takes for one.
type keyTable struct {
	limit  int
	latest map[keyHash]int64 // offsets
}

type keyHash [sha256.Size / 2]byte

// bytesPerKey is what an entry of the table takes, at worst: 24 bytes in a map that
// has just been grown.
const bytesPerKey = 64

func newKeyTable(limit int) *keyTable { return &keyTable{limit: limit, latest: map[keyHash]int64{}} }

func hashKey(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:])
}

// put notes a record, and reports false when there is no room for its key.
func (t *keyTable) put(key []byte, offset int64) bool {
	h := hashKey(key)
	if len(t.latest) >= t.limit {
		if _, known := t.latest[h]; !known {
			return false
		}
	}
	t.latest[h] = offset
	return true
}

// superseded tells whether a later record has the same key.
func (t *keyTable) superseded(key []byte, offset int64) bool {
	latest, ok := t.latest[hashKey(key)]
	return ok && offset < latest
}

var errTableFull = errors.New("the table of keys is full")

// fill notes the keys of all that is not compacted, as far as they fit, and sets
// c.end behind the last of them.
func (c *compaction) fill(ctx context.Context) error {
	c.keys = newKeyTable(c.p.store.keyLimit)
	c.end = c.segments[len(c.segments)-1].next
	for _, g := range c.segments {
		if g.next <= c.from {
			continue
		}
		err := c.each(ctx, g, func(b record.Batch, _ bool) error { return c.note(ctx, b) })
		if errors.Is(err, errTableFull) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note puts the keys of a batch into the table.
func (c *compaction) note(ctx context.Context, b record.Batch) error {
	if b.LastOffset() < c.from || b.Control() {
		return nil
	}
	limit := int32(min(c.p.store.cfg.Compaction.Memory, math.MaxInt32))
	return b.Read(ctx, limit, func(r *record.Record) error {
		offset := b.BaseOffset + int64(r.OffsetDelta)
		if offset < c.from || r.Key == nil || c.keys.put(r.Key, offset) {
			return nil
		}
		c.end = offset
		return errTableFull
	})
}
