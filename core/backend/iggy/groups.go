package iggy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/backend/offsetvalue"
)

// The states of groups are in the ledger beside their committed offsets, and go into
// the same sends.

func groupStateKey(group string) string {
	return keyGroup + strings.ReplaceAll(group, "\x00", zeroByte)
}

func groupOfState(key string) string {
	return strings.ReplaceAll(key[len(keyGroup):], zeroByte, "\x00")
}

// EachGroup implements backend.Groups. It answers from memory, also while Iggy is
// away; the states must not be changed.
func (s *Store) EachGroup(ctx context.Context, each func(group string, state []byte) error) error {
	names, err := s.OffsetGroups(ctx)
	if err != nil {
		return err
	}
	committed := len(names)
	for key := range s.ledger.Scan(keyGroup) {
		names = append(names, groupOfState(key))
	}
	// Both are sorted, and often the same.
	offsets := names[:committed:committed]
	all := slices.Clone(names)
	slices.Sort(all)
	for _, group := range slices.Compact(all) {
		if err := ctx.Err(); err != nil {
			return err
		}
		state, saved := s.ledger.Get(groupStateKey(group))
		if !saved {
			if _, ok := slices.BinarySearch(offsets, group); !ok {
				continue // forgotten meanwhile
			}
		}
		if err := each(group, state); err != nil {
			return err
		}
	}
	return nil
}

// SaveGroup implements backend.Groups. A state that was forgotten is written all the
// same: an earlier call may be on its way still.
func (s *Store) SaveGroup(ctx context.Context, group string, state []byte) error {
	if err := s.up(); err != nil {
		return err
	}
	if len(state) > backend.MaxGroupState {
		return fmt.Errorf("%w: the state of group %q has %d bytes, limit %d", backend.ErrTooLarge, group, len(state), backend.MaxGroupState)
	}
	return s.commitInTime(ctx, []journal.Change{{Key: groupStateKey(group), Value: state}})
}

// expiring is a committed offset as it was found.
type expiring struct {
	key   string
	value []byte
}

// ExpireOffsets implements backend.Groups. What is removed is decided again when the
// ledger comes to it, after all commits that were there before.
func (s *Store) ExpireOffsets(ctx context.Context, group string, before time.Time, keep func(topic string) bool) (left int, err error) {
	if err := s.up(); err != nil {
		return 0, err
	}
	old, left, err := s.expired(group, before, keep)
	if err != nil || len(old) == 0 {
		return left, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.commitPatience)
	defer cancel()
	for len(old) > 0 {
		n := pieceOf(len(old), func(i int) int { return len(old[i].key) })
		if err := s.removeUnchanged(ctx, old[:n]); err != nil {
			return 0, err
		}
		old = old[n:]
	}
	_, left, err = s.expired(group, time.Time{}, nil)
	return left, err
}

// expired returns the offsets of a group that were committed before a time, but for
// those of topics to keep, and how many others there are.
func (s *Store) expired(group string, before time.Time, keep func(topic string) bool) (old []expiring, others int, err error) {
	for key, value := range s.ledger.Scan(groupKey(group)) {
		_, p, ok := splitOffset(key)
		t, _, _ := s.catalog.id(p.Topic)
		if !ok || t == nil || !s.has(p) {
			continue // of a topic that is gone; so will it be
		}
		c, err := offsetvalue.Decode(value)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: committed offset of group %q: %w", backend.ErrStorage, group, err)
		}
		if c.CommitTime.Before(before) && (keep == nil || !keep(t.info.Name)) {
			old = append(old, expiring{key, value})
		} else {
			others++
		}
	}
	return old, others, nil
}

// removeUnchanged removes what is still as it was found, in one step.
func (s *Store) removeUnchanged(ctx context.Context, old []expiring) error {
	return s.ledger.Amend(ctx, func() []journal.Change {
		changes := make([]journal.Change, 0, len(old))
		for _, o := range old {
			if now, ok := s.ledger.Get(o.key); ok && bytes.Equal(now, o.value) {
				changes = append(changes, journal.Change{Key: o.key})
			}
		}
		return changes
	})
}
