package acls

import (
	"context"
	"maps"
)

// memory is backend.Entries in memory.
type memory struct{ kept map[string][]byte }

func newMemory() *memory { return &memory{map[string][]byte{}} }

func (m *memory) Entries(context.Context, string) (map[string][]byte, error) {
	return maps.Clone(m.kept), nil
}

func (m *memory) ChangeEntries(_ context.Context, _ string, changes map[string][]byte) error {
	for name, value := range changes {
		if value == nil {
			delete(m.kept, name)
			continue
		}
		m.kept[name] = value
	}
	return nil
}
