package iggy

import (
	"context"
	"fmt"
)

// Healthy returns nil while the store serves and the Iggy server answers. It asks
// the server nothing.
func (s *Store) Healthy(context.Context) error {
	if err := s.up(); err != nil {
		return err
	}
	if c, ok := s.server.(interface{ Up() bool }); ok && !c.Up() {
		return fmt.Errorf("the Iggy server at %s does not answer", s.cfg.Address)
	}
	return nil
}
