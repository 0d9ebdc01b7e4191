package embedded

// GroupsFrom returns the names of one page of EachGroup.
func (s *Store) GroupsFrom(from string) (names []string, err error) {
	page, err := s.groupsFrom(from)
	for _, g := range page {
		names = append(names, g.name)
	}
	return names, err
}

// Starts is how many log starts are kept.
func (s *Store) Starts() (n int) {
	_ = s.meta.scan(plainKey(keyStart), func(_, _ []byte) error { n++; return nil })
	return n
}

// LimitOffsets bounds the committed offsets, in bytes. Before anything is committed.
func (s *Store) LimitOffsets(bytes int64) { s.offsets = newOffsetRoom(bytes) }

// OffsetBytes is the size of the committed offsets.
func (s *Store) OffsetBytes() (int64, error) { return s.countOffsets(nil) }

// BeforeCount has each count of the committed offsets call a function first, which gets
// a channel that is closed when the store is.
func (s *Store) BeforeCount(wait func(quit <-chan struct{})) {
	s.counter = func(quit <-chan struct{}) (int64, error) {
		wait(quit)
		return s.countOffsets(quit)
	}
}

// OffsetsCounted reports whether the committed offsets have been counted, and nobody
// counts.
func (s *Store) OffsetsCounted() bool {
	s.offsets.mu.Lock()
	defer s.offsets.mu.Unlock()
	return s.offsets.counted >= 0 && !s.offsets.counting
}
