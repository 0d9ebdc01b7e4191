package iggy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// maxChanges is how many changes one commit has at most that need not be one step,
// and maxChangeBytes how many bytes: a key has the name of its group.
const (
	maxChanges     = 1000
	maxChangeBytes = 4 << 20
)

// firstLook is the look of a start: it also removes what topics that are no longer
// there have left.
func (s *Store) firstLook(ctx context.Context) (err error) {
	if s.entries, err = loadEntries(s.ledger); err != nil {
		return err
	}
	if err := s.lookNow(ctx); err != nil {
		return err
	}
	var changes []journal.Change
	// Topics that were never made.
	for key := range s.ledger.Scan(keyPending) {
		changes = append(changes, journal.Change{Key: key})
	}
	known := map[uuid.UUID]bool{}
	for _, e := range s.entries {
		known[e.ID] = true
	}
	changes = append(changes, s.left(func(id uuid.UUID) bool { return !known[id] })...)
	if len(changes) == 0 {
		return nil
	}
	s.log.Info("what deleted topics have left in the internal log is removed", zap.Int("keys", len(changes)))
	return s.commitAll(ctx, changes)
}

// commitAll makes changes that need not be one step, in order.
func (s *Store) commitAll(ctx context.Context, changes []journal.Change) error {
	for len(changes) > 0 {
		n := pieceOf(len(changes), func(i int) int { return len(changes[i].Key) + len(changes[i].Value) })
		if err := s.ledger.Commit(ctx, changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// pieceOf is how many of some changes go in one commit.
func pieceOf(changes int, sizeOf func(i int) int) (n int) {
	for size := 0; n < min(changes, maxChanges); n++ {
		if size += sizeOf(n); n > 0 && size > maxChangeBytes {
			break
		}
	}
	return n
}

// purge removes what topics that have gone have left: committed offsets, configs,
// ends. What it cannot remove now the next look or the next start does. admin is
// held, and the topics are no longer in the catalog.
func (s *Store) purge(ctx context.Context, all []seen, replaced []uuid.UUID) error {
	vanished, err := s.vanished(ctx, all)
	if err != nil || len(vanished)+len(replaced) == 0 {
		return err
	}
	// Commits that still saw the topics end first.
	s.committing.Lock()
	//lint:ignore SA2001 the lock is a barrier
	s.committing.Unlock()
	gone := map[uuid.UUID]bool{}
	for _, id := range vanished {
		gone[id] = true
	}
	for _, id := range replaced {
		gone[id] = true
	}
	changes := s.left(func(id uuid.UUID) bool { return gone[id] })
	for p := range vanished { // last: the rest is found by them
		changes = append(changes, journal.Change{Key: p.key()})
	}
	if err := s.commitAll(ctx, changes); err != nil {
		return fmt.Errorf("remove what deleted topics have left: %w", err)
	}
	for p := range vanished {
		delete(s.entries, p)
	}
	return nil
}

// vanished returns the topics that have an entry and are not there. A list that
// does not have a topic is not enough: committed offsets depend on it, and the
// server gives an empty list for a stream that it does not find.
func (s *Store) vanished(ctx context.Context, all []seen) (map[place]uuid.UUID, error) {
	present := make(map[place]bool, len(all))
	for _, one := range all {
		present[one.place] = true
	}
	if len(present) == len(s.entries) {
		return nil, nil
	}
	streams := s.names.streams()
	vanished := map[place]uuid.UUID{}
	for p, e := range s.entries {
		// What lies in a stream that is not looked at is kept for the day it is.
		if present[p] || !slices.Contains(streams, p.stream) {
			continue
		}
		vanished[p] = e.ID
	}
	if len(vanished) == 0 {
		return nil, nil
	}
	hidden, err := s.hiddenPlaces(ctx)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(vanished, func(p place, _ uuid.UUID) bool { return hidden[p] })
	return vanished, nil
}

// hiddenPlaces returns where topics are, asked for one by one and whether clients
// see them or not.
func (s *Store) hiddenPlaces(ctx context.Context) (map[place]bool, error) {
	all := map[place]bool{}
	for _, stream := range s.names.streams() {
		topics, err := s.server.Topics(ctx, stream)
		if err != nil && !missing(err) {
			return nil, err
		}
		for _, t := range topics {
			all[place{stream, t.Id}] = true
		}
	}
	return all, nil
}

// left returns the changes that remove what is kept under the ids of topics.
func (s *Store) left(gone func(uuid.UUID) bool) []journal.Change {
	var changes []journal.Change
	for _, kind := range []string{keyConfigs, keyEnd, keyStart, keyLead, keyVoid} {
		for key := range s.ledger.Scan(kind) {
			id, err := uuid.FromBytes([]byte(key[len(kind):min(len(key), len(kind)+len(uuid.UUID{}))]))
			if err != nil || gone(id) {
				changes = append(changes, journal.Change{Key: key})
			}
		}
	}
	for key := range s.ledger.Scan(keyOffset) {
		if _, p, ok := splitOffset(key); !ok || gone(p.Topic) {
			changes = append(changes, journal.Change{Key: key})
		}
	}
	return changes
}
