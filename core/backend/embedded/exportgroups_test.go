package embedded

// GroupsFrom returns the names of one page of EachGroup.
func (s *Store) GroupsFrom(from string) (names []string, err error) {
	page, err := s.groupsFrom(from)
	for _, g := range page {
		names = append(names, g.name)
	}
	return names, err
}
