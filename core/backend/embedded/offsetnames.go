package embedded

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/iggykafka/gateway/core/backend"
)

// offsetNames goes through the names of the groups with committed offsets in
// order. Their keys sort by the length of the name first, so that it looks at the
// next name of each length that there is.
type offsetNames struct {
	it    *pebble.Iterator
	heads nameHeap
	bad   error
}

// newOffsetNames begins at the first name that is not before from.
func newOffsetNames(snapshot *pebble.Snapshot, from string) (*offsetNames, error) {
	it, err := snapshot.NewIter(&pebble.IterOptions{
		LowerBound: plainKey(keyOffset), UpperBound: plainKey(keyOffset + 1),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	n := &offsetNames{it: it}
	for length := 0; n.it.SeekGE(lengthKey(length)); length++ {
		name, ok := n.name()
		if !ok {
			break
		}
		length = len(name)
		if name, ok = n.seek(append(lengthKey(length), from...), length); ok && name < from {
			// from begins with the whole name.
			name, ok = n.seek(prefixEnd(groupKey(name)), length)
		}
		if ok {
			heap.Push(&n.heads, name)
		}
	}
	return n, nil
}

// name returns the group that the iterator is at.
func (n *offsetNames) name() (string, bool) {
	if !n.it.Valid() {
		return "", false
	}
	group, _, ok := splitOffset(n.it.Key())
	if !ok && n.bad == nil {
		n.bad = fmt.Errorf("key %x: %w", bytes.Clone(n.it.Key()), errValue)
	}
	return group, ok
}

// seek returns the first group at or behind a key whose name has this length.
func (n *offsetNames) seek(key []byte, length int) (string, bool) {
	n.it.SeekGE(key)
	name, ok := n.name()
	return name, ok && len(name) == length
}

// first returns the name that is next.
func (n *offsetNames) first() (string, bool) {
	if len(n.heads) == 0 {
		return "", false
	}
	return n.heads[0], true
}

// advance goes on behind the name that was next.
func (n *offsetNames) advance() {
	name := n.heads[0]
	if next, ok := n.seek(prefixEnd(groupKey(name)), len(name)); ok {
		n.heads[0] = next
		heap.Fix(&n.heads, 0)
	} else {
		heap.Pop(&n.heads)
	}
}

func (n *offsetNames) err() error { return errors.Join(n.bad, n.it.Error()) }

func (n *offsetNames) close() { n.it.Close() }

// lengthKey begins the keys of all offsets of groups whose names have a length.
func lengthKey(length int) []byte {
	return binary.BigEndian.AppendUint32(plainKey(keyOffset), uint32(length))
}

// nameHeap is a heap of names, the first on top.
type nameHeap []string

func (h nameHeap) Len() int           { return len(h) }
func (h nameHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h nameHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nameHeap) Push(name any)     { *h = append(*h, name.(string)) }

func (h *nameHeap) Pop() any {
	last := len(*h) - 1
	name := (*h)[last]
	*h = (*h)[:last]
	return name
}
