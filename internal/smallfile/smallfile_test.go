package smallfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/internal/smallfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600))
	content, err := smallfile.Read(path, 5)
	require.NoError(t, err)
	require.Equal(t, "hello", string(content))
	_, err = smallfile.Read(path, 4)
	require.EqualError(t, err, "is larger than 4 bytes")
	_, err = smallfile.Read(folder, 5)
	require.EqualError(t, err, "is a folder, not a file")
	_, err = smallfile.Read(filepath.Join(folder, "none"), 5)
	require.EqualError(t, err, "cannot be read: no such file or directory")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
