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
