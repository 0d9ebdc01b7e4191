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
func (s *Store) OffsetBytes() (int64, error) { return s.countOffsets() }
