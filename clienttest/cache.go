package clienttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// cacheVar names the variable that moves the cache.
const cacheVar = "KAFKA_GATEWAY_TEST_CACHE"

// Missing skips the test because this machine lacks something. In CI (CI=true) it fails: there everything
// must be tested.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("this machine has no %s", what)
	}
	t.Skipf("this machine has no %s", what)
}

// NeedCommand demands programs on the PATH.
func NeedCommand(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Missing(t, name)
		}
	}
}

// Install returns the folder of the cache that holds what the pinned files describe. When it is not there
// yet, it copies the files into a new folder and runs install in it. The folder's name carries a checksum of
// the files, so a changed pin installs anew; a lock lets one test process install while the others wait.
func Install(t testing.TB, name string, pinned []string, install func(dir string)) string {
	t.Helper()
	sum := sha256.New()
	contents := make([][]byte, len(pinned))
	for i, file := range pinned {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		contents[i] = content
		sum.Write(content)
	}
	cache := cacheDir(t)
	dir := filepath.Join(cache, name+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	defer lock(t, filepath.Join(cache, name+".lock"))()
	done := filepath.Join(dir, ".installed")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	require.NoError(t, os.RemoveAll(dir)) // what an interrupted installation left
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for i, file := range pinned {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), contents[i], 0o644))
	}
	install(dir)
	require.NoError(t, os.WriteFile(done, nil, 0o644))
	return dir
}

// Command runs a program in a folder and fails the test, with the program's output, when it fails.
func Command(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s %v\n%s", name, args, &out)
}

// cacheDir returns .cache at the root of the repository, or what KAFKA_GATEWAY_TEST_CACHE names.
func cacheDir(t testing.TB) string {
	dir := os.Getenv(cacheVar)
	if dir == "" {
		_, here, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(here), "..", ".cache")
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// Locked runs f while no other test process is in Locked with the same name.
func Locked(t testing.TB, name string, f func()) {
	defer lock(t, filepath.Join(cacheDir(t), name+".lock"))()
	f()
}

// lock takes an exclusive lock on a file, waiting for it, and returns the unlock. The operating system drops
// it when the process dies.
func lock(t testing.TB, file string) func() {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { _ = f.Close() }
}
