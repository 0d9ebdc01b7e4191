package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"strings"
	"sync"

	"github.com/google/btree"
)

// tree holds the live pairs in the order of their keys. A clone of it is a
// moment that later changes leave alone.
type tree = btree.BTreeG[Change]

func newTree() *tree {
	return btree.NewG(32, func(a, b Change) bool { return a.Key < b.Key })
}

// sum is the checksum of all pairs, in order, lengths included.
func sum(t *tree) uint32 {
	var sum uint32
	var size [binary.MaxVarintLen64]byte
	add := func(b []byte) {
		sum = crc32.Update(sum, castagnoli, binary.AppendUvarint(size[:0], uint64(len(b))))
		sum = crc32.Update(sum, castagnoli, b)
	}
	t.Ascend(func(c Change) bool {
		add([]byte(c.Key))
		add(c.Value)
		return true
	})
	return sum
}

// live is a tree and the bytes of its keys and values.
type live struct {
	mu    sync.RWMutex
	tree  *tree
	bytes int64
}

func newLive() *live { return &live{tree: newTree()} }

// apply changes the tree. It copies what it keeps, as a value often is a piece
// of something large.
func (l *live) apply(list []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	each(list, func(key, value []byte) {
		c := Change{Key: string(key), Value: bytes.Clone(value)}
		var old Change
		if c.Value == nil {
			old, _ = l.tree.Delete(c)
		} else {
			l.bytes += pairSize(c)
			old, _ = l.tree.ReplaceOrInsert(c)
		}
		l.bytes -= pairSize(old)
	})
}

// size returns the number of pairs and the bytes of their keys and values.
func (l *live) size() (pairs, bytes int64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int64(l.tree.Len()), l.bytes
}

func (l *live) get(key string) ([]byte, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	c, found := l.tree.Get(Change{Key: key})
	return c.Value, found
}

// moment returns a tree that stays as it is.
func (l *live) moment() *tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree.Clone()
}

func pairSize(c Change) int64 { return int64(len(c.Key) + len(c.Value)) }

// scan yields the pairs with a prefix. The tree must not change meanwhile.
func scan(t *tree, prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		t.AscendGreaterOrEqual(Change{Key: prefix}, func(c Change) bool {
			return strings.HasPrefix(c.Key, prefix) && yield(c.Key, c.Value)
		})
	}
}
