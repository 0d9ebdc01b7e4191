package iggy

import (
	"context"
	"fmt"
)

// Healthy returns nil while the store serves and the Iggy server answers. It asks
// the server nothing.
func (s *Store) Healthy(context.Context) error {
	switch err := s.up(); {
	case s.state.Load() == stateNew:
		return fmt.Errorf("it waits for the Iggy server at %s, or reads what it keeps there", s.cfg.Address)
	case s.lost.Load():
		return errLost
	case err != nil:
		return err
	}
	if c, ok := s.server.(interface{ Up() bool }); ok && !c.Up() {
		return fmt.Errorf("the Iggy server at %s does not answer", s.cfg.Address)
	}
	return nil
}
