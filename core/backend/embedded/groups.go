package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// groupsPage and groupsPageBytes bound what EachGroup holds in memory: it
	// reads so many groups, or a little more than so many bytes, at a time.
	groupsPage      = 1000
	groupsPageBytes = 1 << 20
)

// savedGroup is a group as EachGroup tells of it.
type savedGroup struct {
	name  string
	state []byte // nil: none was saved
}

// SaveGroup implements backend.Groups.
func (s *Store) SaveGroup(_ context.Context, group string, state []byte) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if state == nil {
		b := s.meta.db.NewBatch()
		if err := b.Delete(groupStateKey(group), nil); err != nil {
			return fmt.Errorf("%w: %w", backend.ErrStorage, err)
		}
		return s.meta.commit(b, acknowledged)
	}
	if len(state) > backend.MaxGroupState {
		return fmt.Errorf("%w: the state of group %q has %d bytes", backend.ErrTooLarge, group, len(state))
	}
	if err := s.keeper.room(); err != nil {
		return err
	}
	value := append(make([]byte, 0, 1+len(state)), valueVersion)
	return s.meta.set(groupStateKey(group), append(value, state...), acknowledged)
}

// EachGroup implements backend.Groups. It reads a page at a time and holds
// nothing while it calls each, which may call the store.
func (s *Store) EachGroup(ctx context.Context, each func(group string, state []byte) error) error {
	for from := ""; ; {
		page, err := s.groupsFrom(from)
		if err != nil {
			return err
		}
		for _, g := range page {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := each(g.name, g.state); err != nil {
				return err
			}
			from = g.name + "\x00" // the next name that there can be
		}
		if len(page) == 0 {
			return nil
		}
	}
}

// groupsFrom returns the first groups whose names are at or behind from. Saved
// states and committed offsets are those of one moment.
func (s *Store) groupsFrom(from string) (page []savedGroup, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	snapshot := s.meta.db.NewSnapshot()
	defer snapshot.Close()
	states, err := snapshot.NewIter(&pebble.IterOptions{
		LowerBound: groupStateKey(from), UpperBound: plainKey(keyGroup + 1),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrStorage, err)
	}
	defer states.Close()
	names, err := newOffsetNames(snapshot, from)
	if err != nil {
		return nil, err
	}
	defer names.close()
	saved := states.First()
	for size := 0; len(page) < groupsPage && size < groupsPageBytes; {
		committed, ok := names.first()
		if !ok && !saved {
			break
		}
		g := savedGroup{name: committed}
		if saved && (!ok || string(states.Key()[1:]) <= committed) {
			g.name = string(states.Key()[1:])
			if g.state, err = decodeGroup(states.Value()); err != nil {
				return nil, fmt.Errorf("%w: state of group %q: %w", backend.ErrStorage, g.name, err)
			}
			saved = states.Next()
		}
		if ok && g.name == committed {
			names.advance()
		}
		page = append(page, g)
		size += len(g.name) + len(g.state)
	}
	if err := errors.Join(states.Error(), names.err()); err != nil {
		return nil, fmt.Errorf("%w: groups: %w", backend.ErrStorage, err)
	}
	return page, nil
}

func decodeGroup(value []byte) ([]byte, error) {
	if len(value) < 1 || value[0] != valueVersion {
		return nil, errValue
	}
	return append([]byte{}, value[1:]...), nil
}

// groupStateKey is the key of what is saved of a group.
func groupStateKey(group string) []byte { return append(plainKey(keyGroup), group...) }
