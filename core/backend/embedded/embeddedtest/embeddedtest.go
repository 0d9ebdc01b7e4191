// Package embeddedtest opens embedded stores for tests.
package embeddedtest

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Open starts a store in memory that is closed when the test ends. Each change
// may set options, such as a clock.
func Open(t testing.TB, changes ...func(*embedded.Config, *embedded.Options)) *embedded.Store {
	t.Helper()
	cfg, opts := embedded.DefaultConfig(), embedded.Options{FS: vfs.NewMem()}
	cfg.Dir = "/data"
	for _, change := range changes {
		change(&cfg, &opts)
	}
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	s := embedded.New(cfg, catalog, opts)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
