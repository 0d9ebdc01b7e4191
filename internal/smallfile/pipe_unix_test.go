//go:build unix

package smallfile_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/internal/smallfile"
)

// Nobody writes to the pipe: whoever opened it would wait.
func TestPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := smallfile.Read(pipe, 5)
	require.EqualError(t, err, "is no regular file")
}
