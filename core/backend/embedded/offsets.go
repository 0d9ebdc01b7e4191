package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/offsetvalue"
)

// CommitOffsets implements backend.Offsets. backend.ErrTooLarge for partitions that the
// group has committed nothing for, and for longer metadata than it has, when there are
// offsets enough.
func (s *Store) CommitOffsets(_ context.Context, group string, commits []backend.Commit) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	s.committing.RLock()
	defer s.committing.RUnlock()
	lock := s.groupLocks.of(group)
	lock.RLock()
	defer lock.RUnlock()
	if err := s.keeper.room(); err != nil {
		return err
	}
	changes := make([]offsetChange, 0, len(commits))
	for _, c := range commits {
		if _, err := s.partition(c.Partition); err != nil {
			continue
		}
		change := offsetChange{key: offsetKey(group, c.Partition)}
		if c.Offset >= 0 {
			change.value = offsetvalue.Encode(c.CommittedOffset)
		}
		changes = append(changes, change)
	}
	if err := s.admit(changes); err != nil {
		return err
	}
	b := s.meta.db.NewBatch()
	for _, c := range changes {
		var err error
		if c.value == nil {
			err = b.Delete(c.key, nil)
		} else {
			err = b.Set(c.key, c.value, nil)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", backend.ErrStorage, err)
		}
	}
	return s.meta.commit(b, acknowledged)
}

// FetchOffsets implements backend.Offsets.
func (s *Store) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	found := map[backend.Partition]backend.CommittedOffset{}
	if ps == nil {
		return found, s.meta.scan(groupKey(group), func(key, value []byte) error {
			_, p, ok := splitOffset(key)
			if !ok {
				return errValue
			}
			c, err := offsetvalue.Decode(value)
			found[p] = c
			return err
		})
	}
	for _, p := range ps {
		v, err := s.meta.get(offsetKey(group, p))
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		c, err := offsetvalue.Decode(v)
		if err != nil {
			return nil, fmt.Errorf("%w: committed offset of group %q: %w", backend.ErrStorage, group, err)
		}
		found[p] = c
	}
	return found, nil
}

// OffsetGroups implements backend.Offsets.
func (s *Store) OffsetGroups(context.Context) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	var groups []string
	err := s.eachGroup(func(group string) error {
		groups = append(groups, group)
		return nil
	})
	slices.Sort(groups)
	return groups, err
}

// DeleteOffsets implements backend.Offsets.
func (s *Store) DeleteOffsets(_ context.Context, group string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	prefix := groupKey(group)
	b := s.meta.db.NewBatch()
	// Single deletes: groups have few offsets, and a range tombstone costs
	// every later read.
	if err := s.meta.scan(prefix, func(key, _ []byte) error { return b.Delete(key, nil) }); err != nil {
		return err
	}
	return s.meta.commit(b, acknowledged)
}

// eachGroup calls fn for every group with offsets, in no useful order. It looks
// at one key of each.
func (s *Store) eachGroup(fn func(group string) error) error {
	it, err := s.meta.db.NewIter(&pebble.IterOptions{
		LowerBound: plainKey(keyOffset), UpperBound: plainKey(keyOffset + 1),
	})
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	for ok := it.First(); ok; {
		group, _, good := splitOffset(it.Key())
		if !good {
			it.Close()
			return fmt.Errorf("%w: key %x: %w", backend.ErrStorage, it.Key(), errValue)
		}
		if err := fn(group); err != nil {
			it.Close()
			return err
		}
		ok = it.SeekGE(prefixEnd(groupKey(group)))
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	return nil
}
