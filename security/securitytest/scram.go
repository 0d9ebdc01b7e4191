package securitytest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

// Credential makes a credential that is as good as one of a password, at once.
func Credential(mechanism int8, name string, iterations int32) security.ScramCredential {
	salted := bytes.Repeat([]byte(name), 1+64/(1+len(name)))
	return security.NewScramCredential(mechanism, salted, []byte("salt of "+name[:min(len(name), 16)]), iterations)
}

// Users are credentials in memory, for tests of what uses them: a
// security.ScramCredentials. The zero value has none.
type Users struct {
	// Err, if it is set, is what everything fails with but ScramCredential.
	Err error

	mu          sync.Mutex
	credentials map[string]map[int8]security.ScramCredential
}

// ScramCredential implements security.ScramCredentials.
func (u *Users) ScramCredential(user string, mechanism int8) (security.ScramCredential, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.credentials[user][mechanism]
	return c, ok
}

// ScramUsers implements security.ScramCredentials.
func (u *Users) ScramUsers(context.Context) ([]security.ScramUser, error) {
	if u.Err != nil {
		return nil, u.Err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var users []security.ScramUser
	for _, name := range slices.Sorted(maps.Keys(u.credentials)) {
		user := security.ScramUser{Name: name, Iterations: map[int8]int32{}}
		for mechanism, c := range u.credentials[name] {
			user.Iterations[mechanism] = c.Iterations
		}
		users = append(users, user)
	}
	return users, nil
}

// AlterScramCredentials implements security.ScramCredentials.
func (u *Users) AlterScramCredentials(_ context.Context, changes []security.ScramChange) error {
	if u.Err != nil {
		return u.Err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, change := range changes {
		for _, c := range u.credentials[change.User] {
			if c.Fixed {
				return fmt.Errorf("user %q is fixed", change.User)
			}
		}
	}
	for _, change := range changes {
		u.set(change)
	}
	return nil
}

// Fix gives a user a credential that cannot be altered.
func (u *Users) Fix(user string, mechanism int8, c security.ScramCredential) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c.Fixed = true
	u.set(security.ScramChange{User: user, Mechanism: mechanism, Credential: &c})
}

func (u *Users) set(change security.ScramChange) {
	if change.Credential == nil {
		if delete(u.credentials[change.User], change.Mechanism); len(u.credentials[change.User]) == 0 {
			delete(u.credentials, change.User)
		}
		return
	}
	if u.credentials == nil {
		u.credentials = map[string]map[int8]security.ScramCredential{}
	}
	if u.credentials[change.User] == nil {
		u.credentials[change.User] = map[int8]security.ScramCredential{}
	}
	c := *change.Credential
	c.Salt, c.StoredKey, c.ServerKey = slices.Clone(c.Salt), slices.Clone(c.StoredKey), slices.Clone(c.ServerKey)
	u.credentials[change.User][change.Mechanism] = c
}

// OpenScram opens credentials without users, and tells how to open the same ones
// again as after a restart; reopen is nil for those that keep nothing.
type OpenScram func(t *testing.T) (c security.ScramCredentials, reopen func() security.ScramCredentials)

// ScramCredentials is the suite that every security.ScramCredentials passes.
func ScramCredentials(t *testing.T, open OpenScram) {
	for _, test := range []struct {
		name string
		run  func(*scramHarness)
	}{
		{"nobody", scramNobody},
		{"set, replace and delete", scramLife},
		{"names", scramNames},
		{"many in one step", scramMany},
		{"what is given stays the caller's", scramOwned},
		{"at the same time", scramConcurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, reopen := open(t)
			test.run(&scramHarness{t, c, reopen})
		})
	}
}

type scramHarness struct {
	*testing.T
	security.ScramCredentials
	reopen func() security.ScramCredentials
}

func (h *scramHarness) set(user string, mechanism int8, c *security.ScramCredential) {
	h.Helper()
	require.NoError(h, h.AlterScramCredentials(h.Context(), []security.ScramChange{{User: user, Mechanism: mechanism, Credential: c}}))
}

// holds looks at all users, and looks again after a restart.
func (h *scramHarness) holds(want ...security.ScramUser) {
	h.Helper()
	look := func(c security.ScramCredentials) {
		users, err := c.ScramUsers(h.Context())
		require.NoError(h, err)
		require.Equal(h, want, users)
	}
	look(h.ScramCredentials)
	if h.reopen != nil {
		h.ScramCredentials = h.reopen()
		look(h.ScramCredentials)
	}
}

// has looks at one credential.
func (h *scramHarness) has(user string, mechanism int8, want security.ScramCredential) {
	h.Helper()
	c, ok := h.ScramCredential(user, mechanism)
	require.True(h, ok)
	// Not as a whole: a failure would print keys.
	require.True(h, c.Iterations == want.Iterations && bytes.Equal(c.Salt, want.Salt) &&
		bytes.Equal(c.StoredKey, want.StoredKey) && bytes.Equal(c.ServerKey, want.ServerKey), "another credential")
}

func scramUser(name string, sha256, sha512 int32) security.ScramUser {
	u := security.ScramUser{Name: name, Iterations: map[int8]int32{}}
	if sha256 > 0 {
		u.Iterations[security.ScramSHA256] = sha256
	}
	if sha512 > 0 {
		u.Iterations[security.ScramSHA512] = sha512
	}
	return u
}

func scramNobody(h *scramHarness) {
	users, err := h.ScramUsers(h.Context())
	require.NoError(h, err)
	require.Empty(h, users)
	_, ok := h.ScramCredential("alice", security.ScramSHA256)
	require.False(h, ok)
	require.NoError(h, h.AlterScramCredentials(h.Context(), nil))
	h.set("alice", security.ScramSHA256, nil)
	_, ok = h.ScramCredential("alice", security.ScramSHA256)
	require.False(h, ok)
}

func scramLife(h *scramHarness) {
	first, second := Credential(security.ScramSHA256, "first", 4096), Credential(security.ScramSHA512, "second", 16384)
	h.set("bob", security.ScramSHA256, &first)
	h.set("alice", security.ScramSHA512, &second)
	h.holds(scramUser("alice", 0, 16384), scramUser("bob", 4096, 0))
	h.has("bob", security.ScramSHA256, first)
	h.has("alice", security.ScramSHA512, second)
	_, ok := h.ScramCredential("bob", security.ScramSHA512)
	require.False(h, ok)

	other := Credential(security.ScramSHA256, "other", 8192)
	h.set("bob", security.ScramSHA256, &other)
	h.set("bob", security.ScramSHA512, &second)
	h.holds(scramUser("alice", 0, 16384), scramUser("bob", 8192, 16384))
	h.has("bob", security.ScramSHA256, other)

	h.set("bob", security.ScramSHA256, nil)
	h.set("alice", security.ScramSHA512, nil)
	h.holds(scramUser("bob", 0, 16384))
	_, ok = h.ScramCredential("alice", security.ScramSHA512)
	require.False(h, ok)
}

func scramNames(h *scramHarness) {
	names := []string{" ", "#", "/", "SCRAM-SHA-256/x", "a,b=c", "a:SCRAM-SHA-256$", "nul\x00", "ü", "\U0001f511", strings.Repeat("n", 3000)}
	var want []security.ScramUser
	for _, name := range slices.Sorted(slices.Values(names)) {
		c := Credential(security.ScramSHA512, name, 4096)
		h.set(name, security.ScramSHA512, &c)
		want = append(want, scramUser(name, 0, 4096))
	}
	h.holds(want...)
	for _, name := range names {
		h.has(name, security.ScramSHA512, Credential(security.ScramSHA512, name, 4096))
	}
}

func scramMany(h *scramHarness) {
	var changes []security.ScramChange
	var want []security.ScramUser
	for i := range 1000 {
		name := fmt.Sprintf("user-%04d", i)
		c := Credential(security.ScramSHA256, name, 4096)
		changes = append(changes, security.ScramChange{User: name, Mechanism: security.ScramSHA256, Credential: &c})
		want = append(want, scramUser(name, 4096, 0))
	}
	require.NoError(h, h.AlterScramCredentials(h.Context(), changes))
	h.holds(want...)
}

// What a caller passes may be the bytes of a request, which are used again.
func scramOwned(h *scramHarness) {
	c, want := Credential(security.ScramSHA256, "x", 4096), Credential(security.ScramSHA256, "x", 4096)
	h.set("x", security.ScramSHA256, &c)
	clear(c.Salt)
	clear(c.StoredKey)
	clear(c.ServerKey)
	h.has("x", security.ScramSHA256, want)
}

func scramConcurrent(h *scramHarness) {
	var all sync.WaitGroup
	want := make([]security.ScramUser, 8)
	for i := range want {
		name := fmt.Sprintf("user-%d", i)
		want[i] = scramUser(name, 4096, 0)
		all.Go(func() {
			c := Credential(security.ScramSHA256, name, 4096)
			for _, credential := range []*security.ScramCredential{&c, nil, &c} {
				err := h.AlterScramCredentials(h.Context(), []security.ScramChange{{User: name, Mechanism: security.ScramSHA256, Credential: credential}})
				if err != nil {
					h.Error(err)
				}
				h.ScramCredential(name, security.ScramSHA256)
				_, _ = h.ScramUsers(h.Context())
			}
		})
	}
	all.Wait()
	h.holds(want...)
}
