package users

import (
	"context"
	"crypto/rand"
	"slices"

	"go.uber.org/zap"
)

// fakesEntry is the entry of the secret that the salts of users are made from who do
// not exist. It is no name of a credential's entry, which has a "/".
const fakesEntry = "fakes"

// fakesSize is the length of the secret, in bytes.
const fakesSize = 64

// ScramFakeSecret implements security.ScramFakes. It is nil as long as there are no
// users.
func (s *Store) ScramFakeSecret() []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fakes
}

// takeFakes takes the secret out of what is stored.
func (s *Store) takeFakes(stored map[string][]byte) {
	if secret := stored[fakesEntry]; len(secret) == fakesSize {
		s.fakes = slices.Clone(secret)
	}
	delete(stored, fakesEntry)
}

// newFakes adds a secret to a change where there is none yet, and returns it. It is
// called by who makes changes.
func (s *Store) newFakes(changes map[string][]byte) []byte {
	if secret := s.ScramFakeSecret(); secret != nil {
		return secret
	}
	secret := make([]byte, fakesSize)
	rand.Read(secret) // it never fails
	changes[fakesEntry] = secret
	return secret
}

// keepFakes makes the secret for users who are there already.
func (s *Store) keepFakes(ctx context.Context) {
	if s.file == "" && len(s.stored) == 0 || s.fakes != nil {
		return
	}
	changes := map[string][]byte{}
	secret := s.newFakes(changes)
	if err := s.entries.ChangeEntries(ctx, kind, changes); err != nil {
		s.log.Warn("A secret could not be stored; who watches over a restart can tell which users exist.", zap.Error(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fakes = secret
}
