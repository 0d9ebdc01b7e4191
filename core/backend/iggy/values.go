package iggy

import (
	"bytes"
	"context"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

func valueKey(kind, name string) string { return keyValue + kind + "\x00" + name }

// Entries implements backend.Entries. It answers from memory, also while Iggy is
// away.
func (s *Store) Entries(_ context.Context, kind string) (map[string][]byte, error) {
	found := map[string][]byte{}
	prefix := valueKey(kind, "")
	for key, value := range s.ledger.Scan(prefix) {
		found[key[len(prefix):]] = bytes.Clone(value)
	}
	return found, nil
}

// ChangeEntries implements backend.Entries. All changes are one transaction of the
// ledger. Its commits have their turns one after the other, over lost replies and
// restarts of the server: at the turn of an amendment that changes nothing it is known
// what became of those before.
func (s *Store) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	if err := s.up(); err != nil {
		return err
	}
	if err := backend.CheckEntries(kind, changes); err != nil {
		return err
	}
	if len(changes) == 0 {
		ctx, cancel := context.WithTimeout(ctx, s.opts.commitPatience)
		defer cancel()
		return s.ledger.Amend(ctx, func() []journal.Change { return nil })
	}
	all := make([]journal.Change, 0, len(changes))
	for name, value := range changes {
		all = append(all, journal.Change{Key: valueKey(kind, name), Value: bytes.Clone(value)})
	}
	return s.commitInTime(ctx, all)
}
