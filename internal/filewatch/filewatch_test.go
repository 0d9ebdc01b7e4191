package filewatch

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience bounds what a loaded machine may take, and is well below a poll: who
	// sees a change within it was told of it.
	patience = 40 * time.Second
	quiet    = 20 * time.Millisecond
)

// reader has what a file held when it was last looked at.
type reader struct{ content atomic.Pointer[string] }

func watch(t *testing.T, path string) *reader {
	t.Helper()
	r := &reader{}
	w := New(path)
	require.NoError(t, w.failed)
	t.Cleanup(w.Stop)
	w.Start(quiet, zap.NewNop(), func(time.Time) {
		raw, _ := os.ReadFile(path)
		content := string(raw)
		r.content.Store(&content)
	})
	return r
}

func (r *reader) becomes(t *testing.T, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		got := r.content.Load()
		return got != nil && *got == want
	}, patience, 5*time.Millisecond)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// swap puts a link to target in the place of another one, in one step.
func swap(t *testing.T, target, link string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, link+".next"))
	require.NoError(t, os.Rename(link+".next", link))
}

func TestChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "one")
	r := watch(t, path)
	write(t, path, "two")
	r.becomes(t, "two")
	require.NoError(t, os.Remove(path))
	r.becomes(t, "")
	write(t, path+".next", "three")
	require.NoError(t, os.Rename(path+".next", path))
	r.becomes(t, "three")
}

// Kubernetes keeps a secret's files behind a link that it swaps, and deletes the folder
// that was behind it.
func TestSecretOfKubernetes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mount, path := filepath.Join(root, "mount"), filepath.Join(root, "configured")
	write(t, filepath.Join(mount, "..1", "file"), "..1")
	swap(t, "..1", filepath.Join(mount, "..data"))
	swap(t, filepath.Join("..data", "file"), filepath.Join(mount, "file"))
	swap(t, filepath.Join(mount, "file"), path) // somebody's own link to the mount
	r := watch(t, path)
	for _, next := range []string{"..2", "..3", "..4"} {
		before, err := os.Readlink(filepath.Join(mount, "..data"))
		require.NoError(t, err)
		write(t, filepath.Join(mount, next, "file"), next)
		swap(t, next, filepath.Join(mount, "..data"))
		require.NoError(t, os.RemoveAll(filepath.Join(mount, before)))
		r.becomes(t, next)
	}
}

// The folder that a link leads to is watched from when the link leads there.
func TestBehindANewLink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	one, two, path := filepath.Join(root, "one", "file"), filepath.Join(root, "two", "file"), filepath.Join(root, "etc", "file")
	write(t, one, "one")
	write(t, two, "two")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	swap(t, one, path)
	r := watch(t, path)
	swap(t, two, path)
	r.becomes(t, "two")
	write(t, two, "three")
	r.becomes(t, "three")
}

// A folder may be put in the place of the one that was watched.
func TestAnotherFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "etc")
	path := filepath.Join(folder, "file")
	write(t, path, "one")
	r := watch(t, path)
	write(t, filepath.Join(folder+".next", "file"), "two")
	require.NoError(t, os.Rename(folder, folder+".old"))
	require.NoError(t, os.Rename(folder+".next", folder))
	r.becomes(t, "two")
	write(t, path, "three")
	r.becomes(t, "three")
}

// Folders that the files have left are not watched any more.
func TestFoldersThatWereLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "file")
	for _, name := range []string{"one", "two"} {
		write(t, filepath.Join(root, name, "file"), name)
	}
	swap(t, filepath.Join("one", "file"), path)
	w := New(path, "")
	defer w.Stop()
	require.ElementsMatch(t, []string{root, filepath.Join(root, "one")}, w.notify.WatchList())
	swap(t, filepath.Join("two", "file"), path)
	require.NoError(t, w.follow())
	require.ElementsMatch(t, []string{root, filepath.Join(root, "two")}, w.notify.WatchList())
}

// What happens before the start of the looks is looked at after it.
func TestChangeBeforeTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "one")
	w := New(path)
	defer w.Stop()
	write(t, path, "two")
	looked := make(chan struct{}, 1)
	w.Start(quiet, zap.NewNop(), func(time.Time) {
		select {
		case looked <- struct{}{}:
		default:
		}
	})
	select {
	case <-looked:
	case <-time.After(patience):
		t.Fatal("nobody looked")
	}
}

// Links in a circle end.
func TestLinksInACircle(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	swap(t, "b", filepath.Join(root, "a"))
	swap(t, "a", filepath.Join(root, "b"))
	require.Equal(t, []string{root}, folders([]string{filepath.Join(root, "a")}))
}

// What cannot be watched is told of and polled.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "file")
	w := New(path)
	defer w.Stop()
	core, lines := observer.New(zapcore.InfoLevel)
	w.Start(quiet, zap.New(core), func(time.Time) {})
	require.Equal(t, 1, lines.FilterMessage("changes of files are seen late: they cannot be watched").Len())
	require.Contains(t, lines.All()[0].ContextMap()["error"], filepath.Dir(path)+": no such file or directory")
}

// looks starts a watch that is told of changes by the test, and returns when it looked,
// counted from now. It is for a bubble of synctest.
func looks(t *testing.T, w *Watch) func() []time.Duration {
	began := time.Now()
	var all []time.Duration
	w.Start(100*time.Millisecond, zap.NewNop(), func(now time.Time) { all = append(all, now.Sub(began)) })
	return func() []time.Duration {
		synctest.Wait()
		return slices.Clone(all)
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Watch{}
		looked := looks(t, w)
		defer w.Stop()
		time.Sleep(2*PollEvery + time.Second)
		require.Equal(t, []time.Duration{PollEvery, 2 * PollEvery}, looked())
	})
}

func TestSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Watch{touched: make(chan struct{}, 1)}
		looked := looks(t, w)
		defer w.Stop()
		for range 5 { // a change in several steps
			w.touched <- struct{}{}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		require.Equal(t, []time.Duration{300 * time.Millisecond}, looked())
	})
}

func TestNoRestForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Watch{touched: make(chan struct{}, 1)}
		looked := looks(t, w)
		defer w.Stop()
		for range 100 {
			w.touched <- struct{}{}
			time.Sleep(60 * time.Millisecond) // no divisor of longest: no two things at once
		}
		require.Equal(t, []time.Duration{longest, 2*longest + 40*time.Millisecond}, looked())
	})
}

// A poll in the middle of a change would see half of it.
func TestNoPollWithinAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Watch{touched: make(chan struct{}, 1)}
		looked := looks(t, w)
		defer w.Stop()
		time.Sleep(PollEvery - 50*time.Millisecond)
		w.touched <- struct{}{}
		time.Sleep(time.Second)
		require.Equal(t, []time.Duration{PollEvery + 50*time.Millisecond}, looked())
	})
}
