package embedded

import (
	"errors"
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

const (
	// nearShare is the share of the limit before it in which commits are charged for
	// what they add alone: for that it has to be looked up what they replace. Before
	// it they are charged for all they write, which costs nothing.
	nearShare = 16
	// countShare is how much longer than a count the time after it is, in which nobody
	// counts again. It bounds what counting costs to a tenth of a processor, and how
	// long a store that was full takes to see that offsets have been deleted.
	countShare = 10
	// countAfterError is the least time after a count that failed.
	countAfterError = time.Minute
)

// offsetRoom tells whether there is room for another committed offset. It adds up
// what is committed, and has what is really there counted in the background, while
// commits go on, when the sum comes near the limit. Offsets that are deleted make room
// with the next count.
type offsetRoom struct {
	limit int64
	// near is where commits begin to be charged for what they add alone.
	near int64
	// used is at least how many bytes there are, but for commits that are on their way
	// when a count begins. A start has not counted yet, and takes it for near the
	// limit: until it has, there is room for the share behind near.
	used atomic.Int64

	mu       sync.Mutex
	counting bool
	// counted is what the last count came to.
	counted int64
	// next is when they may be counted again: a store that is full must not spend all of
	// its time on that.
	next time.Time
}

func newOffsetRoom(limit int64) *offsetRoom {
	r := &offsetRoom{limit: limit, near: limit - limit/nearShare, counted: -limit}
	r.used.Store(r.near)
	return r
}

// take reports whether there is room for a commit, which then is taken. size is what it
// writes, in bytes, and growth returns how much of that replaces nothing.
func (r *offsetRoom) take(size int64, growth func() (int64, error)) (bool, error) {
	if r.add(size, r.near) {
		return true, nil
	}
	more, err := growth()
	if err != nil {
		return false, err
	}
	return more == 0 || r.add(more, r.limit), nil
}

func (r *offsetRoom) add(n, limit int64) bool {
	for {
		used := r.used.Load()
		if used+n > limit {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// due reports whether the caller is to count: a commit was refused, or more was taken
// since the last count than half of what that left.
func (r *offsetRoom) due(refused bool) bool {
	used := r.used.Load()
	if !refused && used < r.near {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	half := max(r.counted, r.counted+(r.limit-r.counted)/2)
	if r.counting || !refused && used <= half || time.Now().Before(r.next) {
		return false
	}
	r.counting = true
	return true
}

// recount puts right what is used. count returns how much there is; commits go on
// meanwhile.
func (r *offsetRoom) recount(count func() (int64, error)) error {
	before, began := r.used.Load(), time.Now()
	there, err := count()
	wait := countShare * time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		wait = max(wait, countAfterError)
	} else {
		r.used.Add(there - before) // others have committed meanwhile
		r.counted = there
	}
	r.counting, r.next = false, time.Now().Add(wait)
	return err
}

// countOffsets returns the size of all committed offsets, in bytes; errEnough when quit
// is closed.
func (s *Store) countOffsets(quit <-chan struct{}) (size int64, err error) {
	err = s.meta.scan(plainKey(keyOffset), func(key, value []byte) error {
		select {
		case <-quit:
			return errEnough
		default:
		}
		size += int64(len(key) + len(value))
		return nil
	})
	return size, err
}

// recountOffsets counts in the background; the keeper ends it. The caller has entered
// the store.
func (s *Store) recountOffsets() {
	room := s.offsets
	s.keeper.wg.Go(func() {
		err := room.recount(func() (int64, error) { return s.counter(s.keeper.quit) })
		if err != nil && !errors.Is(err, errEnough) {
			s.log.Warn("the committed offsets could not be counted; it is tried again", cause(err))
		}
	})
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
	room, err := s.offsets.take(size, func() (int64, error) { return s.growth(changes) })
	if err != nil {
		return err
	}
	if s.offsets.due(!room) {
		s.recountOffsets()
	}
	if !room {
		return fmt.Errorf("%w: the store has %d bytes of committed offsets and takes none of further groups and partitions, "+
			"nor longer metadata; delete groups that are not used", backend.ErrTooLarge, s.offsets.limit)
	}
	return nil
}

// growth returns by how much changes make the committed offsets more, in bytes. What
// makes others less is left to the next count.
func (s *Store) growth(changes []offsetChange) (more int64, err error) {
	for _, c := range changes {
		if c.value == nil {
			continue
		}
		before, err := s.meta.get(c.key)
		if err != nil {
			return 0, err
		}
		if before == nil {
			more += int64(len(c.key) + len(c.value))
		} else {
			more += max(0, int64(len(c.value)-len(before)))
		}
	}
	return more, nil
}
