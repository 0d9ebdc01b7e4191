package embedded

// Retain applies retention now.
func (s *Store) Retain() { s.retain() }
