package embedded

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

// maxOffsets bounds the committed offsets of all groups, in bytes of their keys and
// values: names of groups are whatever clients make up, and where nothing expires they
// would be there until the disk is full. It is room for some four million, and as
// much as the gateway keeps in Iggy.
const maxOffsets = 256 << 20

// offsetRoom tells whether there is room for another committed offset. It adds up
// what is committed, which costs nothing, though most of it replaces what was there;
// only when the sum comes to the limit is what is really there counted.
type offsetRoom struct {
	limit int64
	// used is at least how many bytes there are, but for commits that are on their way
	// during a count. A start has not counted yet, and takes it for full.
	used atomic.Int64

	mu sync.Mutex
	// next is when they may be counted again: a store that is full must not spend all of
	// its time on that.
	next time.Time
}

// countShare is how much longer than a count the time after it is, in which nobody counts
// again. It bounds what counting costs to a tenth of a processor, and how long a store
// that was full takes to see that offsets have been deleted.
const countShare = 10

func newOffsetRoom(limit int64) *offsetRoom {
	r := &offsetRoom{limit: limit}
	r.used.Store(limit)
	return r
}

// take reports whether there is room for n bytes more, which then are taken. count
// returns how many there are.
func (r *offsetRoom) take(n int64, count func() (int64, error)) (bool, error) {
	if r.add(n) {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.add(n) {
		return true, nil // somebody else has counted
	}
	if time.Now().Before(r.next) {
		return false, nil
	}
	before, began := r.used.Load(), time.Now()
	there, err := count()
	if err != nil {
		return false, err
	}
	r.next = time.Now().Add(countShare * time.Since(began))
	r.used.Add(there - before) // others have committed meanwhile
	return r.add(n), nil
}

func (r *offsetRoom) add(n int64) bool {
	for {
		used := r.used.Load()
		if used+n > r.limit {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// countOffsets returns the size of all committed offsets, in bytes.
func (s *Store) countOffsets() (size int64, err error) {
	err = s.meta.scan(plainKey(keyOffset), func(key, value []byte) error {
		size += int64(len(key) + len(value))
		return nil
	})
	return size, err
}

// offsetChange is a key and what is committed under it; nil deletes it.
type offsetChange struct{ key, value []byte }

// admit returns an error when there are offsets enough, and a commit makes them
// more: by a partition that the group has committed nothing for, or by more metadata
// than it had.
func (s *Store) admit(changes []offsetChange) error {
	var size int64
	for _, c := range changes {
		if c.value != nil {
			size += int64(len(c.key) + len(c.value))
		}
	}
	if size == 0 {
		return nil // who deletes needs no room
	}
	if room, err := s.offsets.take(size, s.countOffsets); room || err != nil {
		return err
	}
	for _, c := range changes {
		before, err := s.meta.get(c.key)
		if err != nil {
			return err
		}
		if len(c.value) > len(before) {
			return fmt.Errorf("%w: the store has %d bytes of committed offsets and takes none of further groups and partitions, "+
				"nor longer metadata; delete groups that are not used", backend.ErrTooLarge, s.offsets.limit)
		}
	}
	return nil
}
