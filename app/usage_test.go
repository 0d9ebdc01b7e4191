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

// What is wrong with the login of doctor is told with doctor's page, which has those flags.
func TestDoctorPointsAtItsHelp(t *testing.T) {
	t.Parallel()
	got := execute("doctor", "--bootstrap", "127.0.0.1:1", "--user", "alice")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "; see kafka-gateway doctor --help\n")
}

// "help COMMAND" is "COMMAND --help", of nested commands, too, and so is --help in front.
func TestHelpInFront(t *testing.T) {
	t.Parallel()
	nested := []string{"topics create", "groups reset", "offsets list", "offsets import", "topics create --partitions 3"}
	for _, command := range append(nested, commands[:]...) {
		words := strings.Fields(command)
		want := execute(append(words, "--help")...)
		require.Equal(t, exitOK, want.code, command)
		require.Contains(t, want.out, words[0], command)
		for _, front := range []string{"help", "--help", "-h"} {
			require.True(t, want == execute(append([]string{front}, words...)...), "%s %s", front, command)
		}
	}
	require.Contains(t, execute("help", "topics", "create").out, "kafka-gateway topics create TOPIC... [flags]")
	require.Contains(t, execute("help", "doctor").out, "kafka-gateway doctor --bootstrap")
	for _, line := range []string{"help lists", "lists --help", "--help lists"} {
		require.Equal(t, outcome{exitUsage, "", `kafka-gateway: unknown command "lists"; commands are ` +
			"serve, topics, groups, offsets, scram, doctor, apis, config, version, help; see kafka-gateway --help\n"}, execute(strings.Fields(line)...), line)
	}
	require.True(t, execute("--help") == execute("help", "--node_id", "7"), "a flag is no command")
}
