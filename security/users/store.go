package users

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/filewatch"
	"github.com/iggykafka/gateway/security/internal/outcome"
)

// kind is what the backend calls the entries.
const kind = "scram"

// Store keeps credentials in memory and in a backend. It implements
// security.ScramCredentials.
type Store struct {
	entries backend.Entries
	file    string
	most    int // credentials that may be stored; 0: any number
	log     *zap.Logger

	watch *filewatch.Watch // of the file, once it has been read
	seen  os.FileInfo      // the file when it was last read; nil for none
	fault string           // why it could not be read then, as it was told
	told  time.Time        // of that fault

	outcomes *outcome.Reader // reads stored anew after a change whose outcome is not known
	changing chan struct{}   // holds a token while a change is made: one at a time

	mu     sync.RWMutex
	stored map[id]security.ScramCredential // of the backend
	fixed  map[id]security.ScramCredential // of the file
	names  map[string]bool                 // the users of the file
	shapes shapes                          // of stored
	// fixedShapes are those of fixed.
	fixedShapes shapes
	fakes       []byte // see fakes.go
}

// New returns a store over entries; Start fills it. The file may be "" for none.
func New(c Config, entries backend.Entries, log *zap.Logger) *Store {
	s := &Store{
		entries: entries, file: c.UsersFile, most: c.MaxCredentials, log: log,
		changing: make(chan struct{}, 1),
		stored:   map[id]security.ScramCredential{}, shapes: shapes{},
	}
	s.outcomes = outcome.New(entries, kind, s.load)
	return s
}

// Start reads what is stored, and the file, which it watches from then on. A file
// that cannot be read stops the start, since it may hold the only administrator. An
// entry of the store that cannot be read is logged and left alone: its user cannot
// log in until the credential is set again.
func (s *Store) Start(ctx context.Context) error {
	if err := s.load(ctx); err != nil {
		return fmt.Errorf("users: reading the stored credentials: %w", err)
	}
	s.keepFakes(ctx)
	if s.file == "" {
		return nil
	}
	return s.follow(filewatch.New(s.file))
}

// Stop ends the watch over the file, and what a change has left to do.
func (s *Store) Stop() {
	s.outcomes.Close()
	if s.watch != nil {
		s.watch.Stop()
		s.watch = nil
	}
}

// load reads what is stored, in place of what was known of it.
func (s *Store) load(ctx context.Context) error {
	select {
	case s.changing <- struct{}{}:
		defer func() { <-s.changing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	found, err := s.entries.Entries(ctx, kind)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeFakes(found)
	s.stored, s.shapes = map[id]security.ScramCredential{}, shapes{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		key, c, err := parseEntry(name, found[name])
		if err != nil {
			s.log.Error("A stored credential cannot be read; its user cannot log in until it is set again.",
				zap.String("entry", name), zap.Error(err))
			continue
		}
		s.put(key, &c)
	}
	return nil
}

// entryName is the name of a credential's entry. The user, which may be any text,
// is its end.
func entryName(key id) string { return security.ScramName(key.mechanism) + "/" + key.user }

// parseEntry reads an entry. No error has anything of its value.
func parseEntry(name string, value []byte) (id, security.ScramCredential, error) {
	_, user, found := strings.Cut(name, "/")
	mechanism, c, err := parse(string(value))
	if err != nil {
		return id{}, c, fmt.Errorf("the entry %w", err)
	}
	key := id{user, mechanism}
	if !found || user == "" || entryName(key) != name {
		return id{}, c, fmt.Errorf("the entry is that of another user or mechanism")
	}
	return key, c, nil
}

// put changes what is in force; s.mu is held. A nil credential goes.
func (s *Store) put(key id, c *security.ScramCredential) {
	if old, ok := s.stored[key]; ok {
		s.shapes.remove(key.mechanism, old)
		delete(s.stored, key)
	}
	if c != nil {
		s.shapes.add(key.mechanism, *c)
		s.stored[key] = *c
	}
}

// ScramCredential implements security.ScramCredentials.
func (s *Store) ScramCredential(user string, mechanism int8) (security.ScramCredential, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	key := id{user, mechanism}
	if s.names[user] {
		c, ok := s.fixed[key]
		return c, ok
	}
	c, ok := s.stored[key]
	return c, ok
}

// ScramUsers implements security.ScramCredentials.
func (s *Store) ScramUsers(context.Context) ([]security.ScramUser, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := make([]id, 0, len(s.stored)+len(s.fixed))
	for key := range s.stored {
		if !s.names[key.user] {
			keys = append(keys, key)
		}
	}
	keys = slices.AppendSeq(keys, maps.Keys(s.fixed))
	slices.SortFunc(keys, func(a, b id) int {
		return cmp.Or(strings.Compare(a.user, b.user), cmp.Compare(a.mechanism, b.mechanism))
	})
	var users []security.ScramUser
	for _, key := range keys {
		if n := len(users); n == 0 || users[n-1].Name != key.user {
			users = append(users, security.ScramUser{Name: key.user, Iterations: map[int8]int32{}})
		}
		c, ok := s.fixed[key]
		if !ok {
			c = s.stored[key]
		}
		users[len(users)-1].Iterations[key.mechanism] = c.Iterations
	}
	return users, nil
}

// AlterScramCredentials implements security.ScramCredentials. After an error that leaves
// open what was stored, that is in force as soon as it is known.
func (s *Store) AlterScramCredentials(ctx context.Context, changes []security.ScramChange) error {
	select {
	case s.changing <- struct{}{}:
		defer func() { <-s.changing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	values := make(map[string][]byte, len(changes))
	for _, change := range changes {
		if err := s.check(change); err != nil {
			return err
		}
		name := entryName(id{change.User, change.Mechanism})
		values[name] = nil
		if change.Credential != nil {
			values[name] = []byte(format(change.Mechanism, *change.Credential))
		}
	}
	if err := s.room(changes); err != nil {
		return err
	}
	fakes := s.newFakes(values)
	if err := s.entries.ChangeEntries(ctx, kind, values); err != nil {
		s.outcomes.Ended(err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fakes = fakes
	for _, change := range changes {
		if change.Credential == nil {
			s.put(id{change.User, change.Mechanism}, nil)
			continue
		}
		kept := *change.Credential
		kept.Salt, kept.StoredKey, kept.ServerKey = slices.Clone(kept.Salt), slices.Clone(kept.StoredKey), slices.Clone(kept.ServerKey)
		s.put(id{change.User, change.Mechanism}, &kept)
	}
	return nil
}

// check refuses what could not be read again.
func (s *Store) check(change security.ScramChange) error {
	s.mu.RLock()
	fixed := s.names[change.User]
	s.mu.RUnlock()
	switch {
	case change.User == "":
		return fmt.Errorf("users: a name is empty")
	case security.ScramName(change.Mechanism) == "":
		return fmt.Errorf("users: user %q: there is no mechanism %d", change.User, change.Mechanism)
	case fixed:
		return fmt.Errorf("users: user %q is in the users file, and cannot be altered", change.User)
	case change.Credential == nil:
		return nil
	}
	if _, _, err := parse(format(change.Mechanism, *change.Credential)); err != nil {
		return fmt.Errorf("users: the credential of user %q %w", change.User, err)
	}
	return nil
}

// TypicalScramShape implements security.ScramShapes. It counts the credentials of the
// file, and of the store those too that the file hides.
func (s *Store) TypicalScramShape(mechanism int8) security.ScramShape {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return typical(s.shapes[mechanism], s.fixedShapes[mechanism])
}
