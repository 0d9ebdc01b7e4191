package users_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/topicconfig"
	"github.com/iggykafka/gateway/security/securitytest"
	"github.com/iggykafka/gateway/security/users"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a loaded machine may take.
const patience = time.Minute

// entries is a backend in memory.
type entries struct {
	mu     sync.Mutex
	values map[string][]byte
	err    error
}

func (e *entries) Entries(_ context.Context, kind string) (map[string][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if kind != "scram" {
		return nil, fmt.Errorf("entries of another kind: %q", kind)
	}
	return maps.Clone(e.values), e.err
}

func (e *entries) ChangeEntries(_ context.Context, kind string, changes map[string][]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := backend.CheckEntries(kind, changes); err != nil {
		return err
	}
	if e.err != nil {
		return e.err
	}
	if e.values == nil {
		e.values = map[string][]byte{}
	}
	for name, value := range changes {
		if e.values[name] = value; value == nil {
			delete(e.values, name)
		}
	}
	return nil
}

func start(t *testing.T, e backend.Entries, c users.Config, log *zap.Logger) *users.Store {
	t.Helper()
	s := users.New(c, e, log)
	t.Cleanup(s.Stop)
	require.NoError(t, s.Start(t.Context()))
	return s
}

func TestConform(t *testing.T) {
	t.Parallel()
	securitytest.ScramCredentials(t, func(t *testing.T) (security.ScramCredentials, func() security.ScramCredentials) {
		e := &entries{}
		open := func() security.ScramCredentials { return start(t, e, users.Config{}, zap.NewNop()) }
		return open(), open
	})
}

// Over the embedded store, which is opened again for each look.
func TestConformEmbedded(t *testing.T) {
	t.Parallel()
	securitytest.ScramCredentials(t, func(t *testing.T) (security.ScramCredentials, func() security.ScramCredentials) {
		disk := vfs.NewMem()
		var store *embedded.Store
		stop := func() {
			if store != nil {
				require.NoError(t, store.Close())
			}
		}
		open := func() security.ScramCredentials {
			stop()
			c := embedded.DefaultConfig()
			c.Dir = "/data"
			catalog, err := topicconfig.NewCatalog(nil)
			require.NoError(t, err)
			store = embedded.New(c, catalog, embedded.Options{FS: disk})
			require.NoError(t, store.Start(t.Context()))
			return start(t, store, users.Config{}, zap.NewNop())
		}
		t.Cleanup(func() { stop() })
		return open(), open
	})
}

func change(user string, mechanism int8, c *security.ScramCredential) []security.ScramChange {
	return []security.ScramChange{{User: user, Mechanism: mechanism, Credential: c}}
}

// What the backend does not take does not come into force.
func TestFailingBackend(t *testing.T) {
	t.Parallel()
	e := &entries{}
	s := start(t, e, users.Config{}, zap.NewNop())
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	require.NoError(t, s.AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, &c)))

	e.mu.Lock()
	e.err = errors.New("no disk")
	e.mu.Unlock()
	require.ErrorContains(t, s.AlterScramCredentials(t.Context(), change("bob", security.ScramSHA256, &c)), "no disk")
	require.ErrorContains(t, s.AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, nil)), "no disk")
	_, ok := s.ScramCredential("bob", security.ScramSHA256)
	require.False(t, ok)
	_, ok = s.ScramCredential("alice", security.ScramSHA256)
	require.True(t, ok)
	require.ErrorContains(t, users.New(users.Config{}, e, zap.NewNop()).Start(t.Context()), "users: reading the stored credentials: no disk")
}

// What could not be read again is not stored, and nothing beside it.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := &entries{}
	s := start(t, e, users.Config{}, zap.NewNop())
	good := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	short, long, few := good, good, good
	short.StoredKey = good.StoredKey[1:]
	long.Salt = make([]byte, security.MaxScramSalt+1)
	few.Iterations = 4095
	for want, bad := range map[string]security.ScramChange{
		"a name is empty":                         {Mechanism: 1, Credential: &good},
		`user "bob": there is no mechanism 3`:     {User: "bob", Mechanism: 3, Credential: &good},
		"a stored key of the wrong length":        {User: "bob", Mechanism: 1, Credential: &short},
		"a salt of the wrong length":              {User: "bob", Mechanism: 1, Credential: &long},
		"iterations that are not a number from 4": {User: "bob", Mechanism: 1, Credential: &few},
	} {
		err := s.AlterScramCredentials(t.Context(), []security.ScramChange{{User: "alice", Mechanism: 1, Credential: &good}, bad})
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, e.values)
	all, err := s.ScramUsers(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

// A stored credential that cannot be read keeps its own user out, and is mended by
// setting it again.
func TestUnreadableEntries(t *testing.T) {
	t.Parallel()
	e := &entries{}
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	require.NoError(t, start(t, e, users.Config{}, zap.NewNop()).AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, &c)))
	alice := e.values["SCRAM-SHA-256/alice"]
	require.NotEmpty(t, alice)
	bad := map[string][]byte{
		"SCRAM-SHA-256/cut":   alice[:len(alice)-5],
		"SCRAM-SHA-256/empty": {},
		"SCRAM-SHA-512/other": alice,
		"SCRAM-SHA-256/":      alice,
		"nothing":             alice,
	}
	maps.Copy(e.values, bad)

	core, seen := observer.New(zapcore.InfoLevel)
	s := start(t, e, users.Config{}, zap.New(core))
	all, err := s.ScramUsers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []security.ScramUser{{Name: "alice", Iterations: map[int8]int32{security.ScramSHA256: 4096}}}, all)
	var named []string
	for _, line := range seen.All() {
		require.Equal(t, "A stored credential cannot be read; its user cannot log in until it is set again.", line.Message)
		named = append(named, line.ContextMap()["entry"].(string))
		requireNoKeys(t, fmt.Sprint(line.ContextMap()), c)
	}
	require.Equal(t, slices.Sorted(maps.Keys(bad)), named)

	require.NoError(t, s.AlterScramCredentials(t.Context(), change("cut", security.ScramSHA256, &c)))
	_, ok := start(t, e, users.Config{}, zap.NewNop()).ScramCredential("cut", security.ScramSHA256)
	require.True(t, ok)
}

// requireNoKeys fails when a text has a part of a credential.
func requireNoKeys(t *testing.T, text string, c security.ScramCredential) {
	t.Helper()
	_, line, _ := strings.Cut(users.FormatLine("", security.ScramSHA256, c), "$")
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == '$' || r == ':' }) {
		if part != "4096" && strings.Contains(text, part) {
			t.Error("a part of a credential is shown")
		}
	}
}

func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	return path
}

// The users of the file are there besides the stored ones, before which they go.
func TestFile(t *testing.T) {
	t.Parallel()
	own, theirs := securitytest.Credential(security.ScramSHA512, "own", 8192), securitytest.Credential(security.ScramSHA512, "theirs", 4096)
	path := file(t, "# the first administrator", "", users.FormatLine("ad:min", security.ScramSHA512, own), "")
	e := &entries{}
	before := start(t, e, users.Config{}, zap.NewNop())
	for _, name := range []string{"ad:min", "zoe"} {
		require.NoError(t, before.AlterScramCredentials(t.Context(), change(name, security.ScramSHA512, &theirs)))
	}
	stale := securitytest.Credential(security.ScramSHA256, "stale", 4096)
	require.NoError(t, before.AlterScramCredentials(t.Context(), change("ad:min", security.ScramSHA256, &stale)))

	s := start(t, e, users.Config{UsersFile: path}, zap.NewNop())
	c, ok := s.ScramCredential("ad:min", security.ScramSHA512)
	require.True(t, ok)
	require.True(t, c.Fixed)
	require.Equal(t, own.Salt, c.Salt)
	_, ok = s.ScramCredential("ad:min", security.ScramSHA256)
	require.False(t, ok, "a user of the file has only what the file says")
	c, ok = s.ScramCredential("zoe", security.ScramSHA512)
	require.True(t, ok)
	require.False(t, c.Fixed)

	all, err := s.ScramUsers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []security.ScramUser{
		{Name: "ad:min", Iterations: map[int8]int32{security.ScramSHA512: 8192}},
		{Name: "zoe", Iterations: map[int8]int32{security.ScramSHA512: 4096}},
	}, all)
	for _, credential := range []*security.ScramCredential{nil, &theirs} {
		require.EqualError(t, s.AlterScramCredentials(t.Context(), change("ad:min", security.ScramSHA256, credential)),
			`users: user "ad:min" is in the users file, and cannot be altered`)
	}
}

// A file that is wrong stops the start. What is told is which line, not what is in
// it.
func TestWrongFile(t *testing.T) {
	t.Parallel()
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	good := users.FormatLine("alice", security.ScramSHA256, c)
	for want, line := range map[string]string{
		"line 2: the line is not name:MECHANISM":              "alice:password",
		"line 2: the line has a name that cannot be: the n":   users.FormatLine("", security.ScramSHA256, c),
		"line 2: the line has no mechanism that is known":     "bob:SCRAM-SHA-1$4096:c2FsdA==$a:b",
		"line 2: the line has iterations that are not a num":  strings.Replace(users.FormatLine("bob", 1, c), "4096", "16385", 1),
		"line 2: the line is not name":                        "bob:SCRAM-SHA-256$4096",
		"line 2: the line has a salt that is not base64":      strings.Replace(users.FormatLine("bob", 1, c), "$4096:", "$4096:!", 1),
		"line 2: the line has a stored key of the wrong":      strings.Replace(users.FormatLine("bob", 1, c), "SHA-256", "SHA-512", 1),
		"line 2: the user has a credential of this mechanism": good,
	} {
		path := file(t, good, line)
		err := users.New(users.Config{UsersFile: path}, &entries{}, zap.NewNop()).Start(t.Context())
		require.ErrorContains(t, err, "sasl.users_file: "+path+": "+want)
		requireNoKeys(t, err.Error(), c)
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "users"): ` cannot be read: no such file or directory; "kafka-gateway scram NAME" prints what belongs into it`,
		"/nowhere/users":                    ` cannot be read: no such file or directory; "kafka-gateway scram NAME" prints what belongs into it`,
		t.TempDir():                         " is a folder, not a file",
		os.DevNull:                          " is no regular file",
		file(t, "\xff\xfea\x00:\x00"):       ": is in UTF-16, as some shells of Windows write; convert it to UTF-8",
	} {
		err := users.New(users.Config{UsersFile: path}, &entries{}, zap.NewNop()).Start(t.Context())
		require.EqualError(t, err, "sasl.users_file: "+path+want)
	}
}

// The file is read again when it changes, however that is done. While it is wrong
// or away, what it said stays in force.
func TestFileChanges(t *testing.T) {
	t.Parallel()
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	line := func(name string) string { return users.FormatLine(name, security.ScramSHA256, c) }
	path := file(t, line("alice"))
	core, seen := observer.New(zapcore.InfoLevel)
	s := start(t, &entries{}, users.Config{UsersFile: path}, zap.New(core))
	becomes := func(want ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			all, err := s.ScramUsers(t.Context())
			require.NoError(t, err)
			var names []string
			for _, u := range all {
				names = append(names, u.Name)
			}
			return slices.Equal(want, names)
		}, patience, 10*time.Millisecond)
	}
	errorsAre := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { return seen.FilterLevelExact(zapcore.ErrorLevel).Len() >= n }, patience, 10*time.Millisecond)
	}
	becomes("alice")
	require.NoError(t, os.WriteFile(path, []byte(line("alice")+"\n"+line("bob")), 0o600))
	becomes("alice", "bob")

	require.NoError(t, os.WriteFile(path, []byte(line("alice")+"\n"+line("bob")[:50]), 0o600))
	errorsAre(1)
	becomes("alice", "bob")
	require.NoError(t, os.Remove(path))
	errorsAre(2)
	becomes("alice", "bob")

	next := path + ".next"
	require.NoError(t, os.WriteFile(next, []byte(line("carol")), 0o600))
	require.NoError(t, os.Rename(next, path))
	becomes("carol")
	for _, entry := range seen.All() {
		requireNoKeys(t, entry.Message+fmt.Sprint(entry.ContextMap()), c)
	}
}

// A folder in which something happens all the time hides no change.
func TestFileInABusyFolder(t *testing.T) {
	t.Parallel()
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	path := file(t, users.FormatLine("alice", security.ScramSHA256, c))
	s := start(t, &entries{}, users.Config{UsersFile: path}, zap.NewNop())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_ = os.WriteFile(path+".log", []byte(time.Now().String()), 0o600)
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	require.NoError(t, os.WriteFile(path, []byte(users.FormatLine("bob", security.ScramSHA256, c)), 0o600))
	require.Eventually(t, func() bool {
		_, ok := s.ScramCredential("bob", security.ScramSHA256)
		return ok
	}, patience, 10*time.Millisecond)
}

// blocking is a backend that takes its time.
type blocking struct {
	entries
	asked, held chan struct{}
}

func (b *blocking) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	close(b.asked)
	<-b.held
	return b.entries.ChangeEntries(ctx, kind, changes)
}

// Whoever waits for another's change gives up with its client.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	e := &blocking{asked: make(chan struct{}), held: make(chan struct{})}
	s := start(t, e, users.Config{}, zap.NewNop())
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	first := make(chan error)
	go func() { first <- s.AlterScramCredentials(t.Context(), change("alice", security.ScramSHA256, &c)) }()
	<-e.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.AlterScramCredentials(ctx, change("bob", security.ScramSHA256, &c)), context.Canceled)
	close(e.held)
	require.NoError(t, <-first)
	_, ok := s.ScramCredential("alice", security.ScramSHA256)
	require.True(t, ok)
}

// Kubernetes keeps files behind a link to a link that it changes.
func TestFileBehindLinks(t *testing.T) {
	t.Parallel()
	c := securitytest.Credential(security.ScramSHA256, "secret", 4096)
	dir := t.TempDir()
	for _, name := range []string{"alice", "bob"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "users"), []byte(users.FormatLine(name, security.ScramSHA256, c)), 0o600))
	}
	require.NoError(t, os.Symlink("alice", filepath.Join(dir, "..data")))
	path := filepath.Join(dir, "users")
	require.NoError(t, os.Symlink(filepath.Join("..data", "users"), path))
	s := start(t, &entries{}, users.Config{UsersFile: path}, zap.NewNop())
	_, ok := s.ScramCredential("alice", security.ScramSHA256)
	require.True(t, ok)

	require.NoError(t, os.Symlink("bob", filepath.Join(dir, "..next")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..next"), filepath.Join(dir, "..data")))
	require.Eventually(t, func() bool {
		_, ok := s.ScramCredential("bob", security.ScramSHA256)
		return ok
	}, patience, 10*time.Millisecond)
}

// Logins of users that do not exist look like most others.
func TestTypicalShape(t *testing.T) {
	t.Parallel()
	s := start(t, &entries{}, users.Config{}, zap.NewNop())
	require.Equal(t, security.KafkaScramShape, s.TypicalScramShape(security.ScramSHA256))
	for i, iterations := range []int32{8192, 5000, 5000, 8192, 5000} {
		c := securitytest.Credential(security.ScramSHA256, "x", iterations)
		require.NoError(t, s.AlterScramCredentials(t.Context(), change(fmt.Sprint(i), security.ScramSHA256, &c)))
	}
	require.Equal(t, security.ScramShape{Iterations: 5000, SaltLength: len("salt of x")}, s.TypicalScramShape(security.ScramSHA256))
	require.Equal(t, security.KafkaScramShape, s.TypicalScramShape(security.ScramSHA512))
	for _, i := range []string{"1", "2", "4"} {
		require.NoError(t, s.AlterScramCredentials(t.Context(), change(i, security.ScramSHA256, nil)))
	}
	require.EqualValues(t, 8192, s.TypicalScramShape(security.ScramSHA256).Iterations)
	for _, i := range []string{"0", "3"} {
		require.NoError(t, s.AlterScramCredentials(t.Context(), change(i, security.ScramSHA256, nil)))
	}
	require.Equal(t, security.KafkaScramShape, s.TypicalScramShape(security.ScramSHA256))
}

// Those of the file count as well: they are the first whose names a stranger tries.
func TestTypicalShapeOfTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	line := func(user string, iterations int32) string {
		return users.FormatLine(user, security.ScramSHA256, securitytest.Credential(security.ScramSHA256, "x", iterations)) + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(line("a", 9000)+line("b", 9000)), 0o600))
	s := start(t, &entries{}, users.Config{UsersFile: path}, zap.NewNop())
	iterations := func() int32 { return s.TypicalScramShape(security.ScramSHA256).Iterations }
	require.EqualValues(t, 9000, iterations())
	require.Equal(t, security.KafkaScramShape, s.TypicalScramShape(security.ScramSHA512))
	for i, n := range []int32{5000, 5000, 5000, 9000, 9000} {
		c := securitytest.Credential(security.ScramSHA256, "x", n)
		require.NoError(t, s.AlterScramCredentials(t.Context(), change(fmt.Sprint(i), security.ScramSHA256, &c)))
	}
	require.EqualValues(t, 9000, iterations(), "four of seven")
	require.NoError(t, os.WriteFile(path, []byte(line("a", 6000)), 0o600))
	require.Eventually(t, func() bool { return iterations() == 5000 }, patience, 10*time.Millisecond)
}

// A file that others on the machine can read, or change, is told of.
func TestFileOfOthers(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]string{0o600: "", 0o640: "", 0o644: "can read", 0o666: "can change"} {
		folder := t.TempDir()
		require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
		require.NoError(t, os.Chmod(folder, 0o755))
		path := filepath.Join(folder, "users")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chmod(path, mode))
		core, seen := observer.New(zapcore.WarnLevel)
		start(t, &entries{}, users.Config{UsersFile: path}, zap.New(core))
		if want == "" {
			require.Zero(t, seen.Len(), "%o", mode)
			continue
		}
		require.Equal(t, 1, seen.Len(), "%o", mode)
		require.Contains(t, seen.All()[0].Message, want)
		require.Equal(t, path, seen.All()[0].ContextMap()["file"])
	}
}
