//go:build unix

package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	require.NoError(t, os.Chmod(folder, 0o755))
	file := func(name string, mode os.FileMode, secret bool) File {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return File{Key: "the." + name, Path: path, Secret: secret}
	}
	s := Setup{Files: []File{
		file("key", 0o600, true), file("group", 0o640, true), file("ca", 0o644, false),
		file("users", 0o644, true), file("jwks", 0o666, false), {Key: "the.data", Path: folder, Secret: true},
		{Key: "missing", Path: filepath.Join(folder, "missing"), Secret: true},
	}}
	at := func(name string) string { return filepath.Join(folder, name) }
	require.Equal(t, []Finding{
		{"permissions", Warn, "every user of this machine can read " + at("users") + " (the.users)", "take that away (chmod o-rwx " + at("users") + ")"},
		{"permissions", Warn, "every user of this machine can change " + at("jwks") + " (the.jwks)", "take that away (chmod o-w " + at("jwks") + ")"},
		{"permissions", Warn, "every user of this machine can read " + folder + " (the.data)", "take that away (chmod o-rwx " + folder + ")"},
	}, s.permissions())
}
