//go:build unix

package embedded_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/embedded"
)

// What the store makes is nobody else's on the machine: it holds credentials.
func TestNobodyElseGetsAtTheStore(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultConfig()
	cfg.Dir = filepath.Join(t.TempDir(), "new", "data")
	b := newBox(t, vfs.Default, cfg)
	newTopic(b, "t")
	for _, path := range []string{cfg.Dir, filepath.Join(cfg.Dir, "topics")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), path)
	}
}
