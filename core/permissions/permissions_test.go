//go:build unix

package permissions_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/permissions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared returns a folder that others can get to.
func shared(t *testing.T) string {
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	require.NoError(t, os.Chmod(folder, 0o755))
	return folder
}

func TestOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outer, folder, file os.FileMode
		read, change        bool
	}{
		"one's own":                   {0o755, 0o755, 0o600, false, false},
		"of a group":                  {0o755, 0o755, 0o660, false, false},
		"read by all":                 {0o755, 0o755, 0o644, true, false},
		"changed by all":              {0o755, 0o755, 0o602, false, true},
		"replaced by all":             {0o755, 0o777, 0o600, false, true},
		"a sticky folder":             {0o755, 0o777 | os.ModeSticky, 0o600, false, false},
		"a folder of one's own":       {0o755, 0o700, 0o666, false, false},
		"a folder above of one's own": {0o700, 0o777, 0o666, false, false},
		"a folder that is not shown":  {0o755, 0o711, 0o644, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := filepath.Join(shared(t), "outer")
			folder := filepath.Join(outer, "folder")
			file := filepath.Join(folder, "file")
			require.NoError(t, os.MkdirAll(folder, 0o700))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(file, link))
			// Not by what creates them, whose modes the umask of the process cuts.
			require.NoError(t, os.Chmod(file, c.file))
			require.NoError(t, os.Chmod(folder, c.folder))
			require.NoError(t, os.Chmod(outer, c.outer))
			for _, path := range []string{file, link} {
				read, change := permissions.Others(path)
				require.Equal(t, c.read, read, path)
				require.Equal(t, c.change, change, path)
			}
		})
	}
}

// What is in a folder can be read by whoever may enter it, also without its list.
func TestOthersOfFolders(t *testing.T) {
	t.Parallel()
	folder := shared(t)
	for mode, want := range map[os.FileMode]bool{0o700: false, 0o750: false, 0o755: true, 0o711: true, 0o704: true} {
		require.NoError(t, os.Chmod(folder, mode))
		read, change := permissions.Others(folder)
		require.Equal(t, want, read, mode)
		require.False(t, change)
	}
}

func TestOthersOfNothing(t *testing.T) {
	t.Parallel()
	read, change := permissions.Others(filepath.Join(t.TempDir(), "missing"))
	require.False(t, read)
	require.False(t, change)
}
