package embedded

import "context"

// Compact compacts now what needs it.
func (s *Store) Compact() { (&compactor{store: s}).round(context.Background()) }

// Retain applies retention now.
func (s *Store) Retain() { s.retain() }

// Tick does now what the keeper does at its next turn.
func (s *Store) Tick() error {
	s.keeper.look()
	s.keeper.settleFull()
	return s.checkpoint(s.keeper.takeDirty(), false)
}

// OpenFiles is how many segment files are open.
func (s *Store) OpenFiles() int {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return len(s.files.open)
}
