package embedded

import (
	"bytes"
	"context"
	"fmt"

	"github.com/iggykafka/gateway/core/backend"
)

// Entries implements backend.Entries.
func (s *Store) Entries(_ context.Context, kind string) (map[string][]byte, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	found := map[string][]byte{}
	prefix := entryKey(kind, "")
	return found, s.meta.scan(prefix, func(key, value []byte) error {
		found[string(key[len(prefix):])] = bytes.Clone(value)
		return nil
	})
}

// ChangeEntries implements backend.Entries.
func (s *Store) ChangeEntries(_ context.Context, kind string, changes map[string][]byte) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := backend.CheckEntries(kind, changes); err != nil {
		return err
	}
	if err := s.keeper.room(); err != nil {
		return err
	}
	b := s.meta.db.NewBatch()
	for name, value := range changes {
		key := entryKey(kind, name)
		err := error(nil)
		if value == nil {
			err = b.Delete(key, nil)
		} else {
			err = b.Set(key, value, nil)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", backend.ErrStorage, err)
		}
	}
	return s.meta.commit(b, acknowledged)
}
