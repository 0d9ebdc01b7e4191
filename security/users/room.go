package users

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/security"
)

// room refuses changes that add credentials to more than there may be; where there are
// too many already, what takes some away is never refused. It is called by who makes
// changes, which name no credential twice.
func (s *Store) room(changes []security.ScramChange) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	before := len(s.stored)
	after := before
	for _, change := range changes {
		_, known := s.stored[id{change.User, change.Mechanism}]
		switch {
		case known && change.Credential == nil:
			after--
		case !known && change.Credential != nil:
			after++
		}
	}
	if s.most == 0 || after <= max(s.most, before) {
		return nil
	}
	return security.Refuse(kerr.PolicyViolation, "There would be %d credentials; sasl.max_credentials is %d.", after, s.most)
}
