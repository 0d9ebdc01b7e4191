package embedded

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/offsetvalue"
)

// ExpireOffsets implements backend.Groups. keep is called while nothing is held,
// so that it may call the store.
func (s *Store) ExpireOffsets(ctx context.Context, group string, before time.Time, keep func(topic string) bool) (left int, err error) {
	present, err := s.FetchOffsets(ctx, group, nil)
	if err != nil {
		return 0, err
	}
	goes := map[uuid.UUID]bool{} // by topic
	for p, c := range present {
		if _, asked := goes[p.Topic]; !asked && expired(c, before) {
			goes[p.Topic] = keep == nil || !keep(s.topicName(p.Topic))
		}
	}
	for _, any := range goes {
		if any {
			return s.removeExpired(group, before, goes)
		}
	}
	return len(present), nil
}

// expired compares as exactly as times are stored.
func expired(c backend.CommittedOffset, before time.Time) bool {
	return c.CommitTime.UnixMilli() < before.UnixMilli()
}

// topicName returns the name of a topic, or "" for one that is gone.
func (s *Store) topicName(id uuid.UUID) string {
	t, err := s.topicByID(id)
	if err != nil {
		return ""
	}
	return t.name
}

// removeExpired looks again at the offsets, while no commit of the group is under
// way, and removes those that are still old and whose topics are among those that
// go.
func (s *Store) removeExpired(group string, before time.Time, goes map[uuid.UUID]bool) (left int, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	lock := s.groupLocks.of(group)
	lock.Lock()
	defer lock.Unlock()
	b := s.meta.db.NewBatch()
	err = s.meta.scan(groupKey(group), func(key, value []byte) error {
		_, p, ok := splitOffset(key)
		if !ok {
			return errValue
		}
		c, err := offsetvalue.Decode(value)
		if err != nil {
			return err
		}
		if goes[p.Topic] && expired(c, before) {
			return b.Delete(key, nil)
		}
		left++
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("offsets of group %q: %w", group, err)
	}
	return left, s.meta.commit(b, acknowledged)
}

// groupLocks keep what looks at a group's offsets and then removes some apart
// from commits. Commits hold theirs shared. Groups share locks.
type groupLocks struct {
	seed  maphash.Seed
	locks [64]sync.RWMutex
}

func newGroupLocks() *groupLocks { return &groupLocks{seed: maphash.MakeSeed()} }

func (l *groupLocks) of(group string) *sync.RWMutex {
	return &l.locks[maphash.String(l.seed, group)%uint64(len(l.locks))]
}
