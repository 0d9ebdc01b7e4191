package iggy

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/backend/offsetvalue"
)

// Committed offsets are in the ledger, never in Iggy's own consumer offsets: those
// are kept by a hash of the group's name, cannot be listed, and have no metadata.

// groupEnd ends the name of a group in a key. A zero byte in the name is written as
// zeroByte, so that no name is the beginning of another one's key and the keys sort
// as the names.
const (
	groupEnd = "\x00\x01"
	zeroByte = "\x00\xff"
)

func groupKey(group string) string {
	return keyOffset + strings.ReplaceAll(group, "\x00", zeroByte) + groupEnd
}

func offsetKey(group string, p backend.Partition) string {
	return groupKey(group) + partitionKey("", p)
}

// splitOffset takes a key of offsetKey apart.
func splitOffset(key string) (group string, p backend.Partition, ok bool) {
	const tail = len(groupEnd) + len(uuid.UUID{}) + 4
	if len(key) < len(keyOffset)+tail {
		return "", p, false
	}
	name, rest := key[len(keyOffset):len(key)-tail], key[len(key)-tail+len(groupEnd):]
	p.Topic = uuid.UUID([]byte(rest[:len(uuid.UUID{})]))
	p.Index = int32(binary.BigEndian.Uint32([]byte(rest[len(uuid.UUID{}):])))
	return strings.ReplaceAll(name, zeroByte, "\x00"), p, true
}

// maxLedger bounds the committed offsets, of groups with any names, in bytes of the
// ledger: all of it is in memory, and read at every start. Offsets that do not expire
// are there for ever. It is room for some two million.
const maxLedger = 256 << 20

// CommitOffsets implements backend.Offsets. All commits are one transaction of the
// ledger. backend.ErrTooLarge for partitions that the group has committed nothing for,
// and for longer metadata than it has, when there are offsets enough.
func (s *Store) CommitOffsets(ctx context.Context, group string, commits []backend.Commit) error {
	if err := s.up(); err != nil {
		return err
	}
	s.committing.RLock()
	defer s.committing.RUnlock()
	full := s.ledger.Size() >= s.opts.maxLedger
	changes := make([]journal.Change, 0, len(commits))
	for _, c := range commits {
		if !s.has(c.Partition) {
			continue
		}
		key := offsetKey(group, c.Partition)
		before, known := s.ledger.Get(key)
		if c.Offset < 0 {
			if known {
				changes = append(changes, journal.Change{Key: key})
			}
			continue
		}
		value := offsetvalue.Encode(c.CommittedOffset)
		if full && len(value) > len(before) {
			return fmt.Errorf("%w: what the gateway keeps in Iggy has %d bytes and takes no offsets of further groups and partitions, "+
				"nor longer metadata; delete groups that are not used", backend.ErrTooLarge, s.opts.maxLedger)
		}
		changes = append(changes, journal.Change{Key: key, Value: value})
	}
	if len(changes) == 0 {
		return nil
	}
	return s.commitInTime(ctx, changes)
}

// commitInTime commits what clients wait for: not for longer than they do.
func (s *Store) commitInTime(ctx context.Context, changes []journal.Change) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.commitPatience)
	defer cancel()
	return s.ledger.Commit(ctx, changes)
}

// has reports that the partition was there when the topics were last looked at.
func (s *Store) has(p backend.Partition) bool {
	t, _, _ := s.catalog.id(p.Topic)
	return t != nil && p.Index >= 0 && int(p.Index) < len(t.partitions)
}

// FetchOffsets implements backend.Offsets. It answers from memory, also while Iggy
// is away.
func (s *Store) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	found := map[backend.Partition]backend.CommittedOffset{}
	add := func(p backend.Partition, value []byte) error {
		if !s.has(p) {
			return nil
		}
		c, err := offsetvalue.Decode(value)
		if err != nil {
			return fmt.Errorf("%w: committed offset of group %q: %w", backend.ErrStorage, group, err)
		}
		found[p] = c
		return nil
	}
	if ps == nil {
		for key, value := range s.ledger.Scan(groupKey(group)) {
			if _, p, ok := splitOffset(key); ok {
				if err := add(p, value); err != nil {
					return nil, err
				}
			}
		}
		return found, nil
	}
	for _, p := range ps {
		if value, ok := s.ledger.Get(offsetKey(group, p)); ok {
			if err := add(p, value); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// OffsetGroups implements backend.Offsets.
func (s *Store) OffsetGroups(context.Context) ([]string, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	var groups []string
	for key := range s.ledger.Scan(keyOffset) {
		group, p, ok := splitOffset(key)
		if ok && (len(groups) == 0 || groups[len(groups)-1] != group) && s.has(p) {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// DeleteOffsets implements backend.Offsets.
func (s *Store) DeleteOffsets(ctx context.Context, group string) error {
	if err := s.up(); err != nil {
		return err
	}
	var changes []journal.Change
	for key := range s.ledger.Scan(groupKey(group)) {
		changes = append(changes, journal.Change{Key: key})
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.commitPatience)
	defer cancel()
	return s.commitAll(ctx, changes)
}
