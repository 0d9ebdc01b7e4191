package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who asks for the help of a command gets that, and not every key of the configuration.
func TestHelpOfACommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"doctor --help":                        "--bootstrap",
		"doctor --config gateway.yaml -h":      "--password-file",
		"--help doctor":                        "DESCRIBE the cluster",
		"apis --help":                          "--acl",
		"apis --acl -h":                        "kafka-gateway --help tells the keys",
		"config -h":                            "--example",
		"offsets --help":                       "offsets list",
		"offsets export -h":                    "want the gateway stopped",
		"version --help":                       "how this program was built",
		"offsets import --storage.sync --help": "offsets import [FILE]",
	} {
		got := execute(strings.Fields(line)...)
		require.Equal(t, exitOK, got.code, line)
		require.Empty(t, got.err, line)
		require.Contains(t, got.out, want, line)
		require.Contains(t, got.out, "\nUsage:\n", line)
		require.NotContains(t, got.out, "--storage.dir", line)
		for i, text := range strings.Split(got.out, "\n") {
			require.LessOrEqual(t, len(text), 90, "line %d of %s: %s", i+1, line, text)
		}
	}
}
