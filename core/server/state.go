package server

import "errors"

// What Ready says.
var (
	errNotListening = errors.New("no connections are accepted yet")
	errDraining     = errors.New("the gateway stops: no connections are accepted any more")
)

// Ready returns nil while new connections are served, and else why they are not.
// It may be called at any time.
func (s *Server) Ready() error {
	switch {
	case s.draining.Load():
		return errDraining
	case !s.listening.Load():
		return errNotListening
	}
	return nil
}
