package group_test

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/grouptest"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, path string) {
		cfg := coordinator.DefaultConfig()
		var d grouptest.Driver
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd == "config" {
				grouptest.Configure(t, &cfg, td.FullCmd())
				return "ok"
			}
			if d == nil {
				d = newMachines(t, cfg)
			}
			return grouptest.Run(t, d, td) + d.State()
		})
	})
}

// eachFile runs a test for each scenario file.
func eachFile(t *testing.T, test func(t *testing.T, path string)) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 30)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { test(t, path) })
	}
}
