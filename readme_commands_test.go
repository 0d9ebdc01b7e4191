package gateway_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

var (
	commandLine = regexp.MustCompile("(?m)(?:`|^    )kafka-gateway (-*[a-z]+)(?: ([a-z]+))?")
	// configBlock is an indented or fenced block that begins with a section.
	configBlock = regexp.MustCompile(`(?m)^( *)(?:storage|iggy|groups|admin|metrics|tracing|telemetry|listeners|tls|sasl|authorization|quotas|audit):\n(?:(?:[ ]+[^\n]*|)\n)+`)
)

// operatorPages are those that tell what to type and what to configure.
func operatorPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "coordinator/README.md", "clienttest/README.md", "bench/README.md")
}

func TestPagesNameRealCommands(t *testing.T) {
	makefile, program := read(t, "Makefile"), read(t, "app/text.go")
	for _, page := range operatorPages(t) {
		text := read(t, page)
		for _, found := range makeCommand.FindAllStringSubmatch(text, -1) {
			require.Containsf(t, makefile, "\n"+found[1]+":", "%s says %q", page, found[0])
		}
		for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
			command := found[1]
			if strings.HasPrefix(command, "-") || found[0] == "    kafka-gateway is ready" {
				continue // a key of the configuration; what the program says
			}
			require.Truef(t, strings.Contains(program, "\n  kafka-gateway "+command), "%s says %q", page, found[0])
			if found[2] != "" && (command == "topics" || command == "groups") {
				var out bytes.Buffer
				require.NoError(t, cli.Run(t.Context(), []string{command, found[2], "--help"}, nil, &out, &out))
				require.Containsf(t, out.String(), "\n  kafka-gateway "+command+" "+found[2], "%s says %q", page, found[0])
			}
		}
	}
}

// program builds the program and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kafka-gateway")
	out, err := exec.Command("go", "build", "-o", path, "./app/kafka-gateway").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// The commands of the README that manage a cluster do so, one after the other.
func TestReadmeManages(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(read(t, "README.md"), "## Manage it\n")
	require.True(t, found)
	addr := gatewaytest.Start(t)
	path, commands := program(t), 0
	for line := range strings.Lines(section) {
		command, isCommand := strings.CutPrefix(line, "    kafka-gateway ")
		if !isCommand {
			if commands > 0 {
				break
			}
			continue
		}
		command = strings.ReplaceAll(command, "127.0.0.1:9092", addr)
		run := exec.CommandContext(t.Context(), path, strings.Fields(command)...)
		run.Env = append(os.Environ(), cli.BootstrapVar+"="+addr)
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
		if commands++; commands == 1 {
			billed(t, addr)
		}
	}
	require.Equal(t, 9, commands)
}

// billed leaves what the stopped group of the README has committed.
func billed(t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	committed := kadm.Offsets{}
	committed.AddOffset("orders", 0, 0, -1)
	answers, err := kadm.NewClient(client).CommitOffsets(t.Context(), "billing", committed)
	require.NoError(t, err)
	require.NoError(t, answers.Error())
}

// What the pages show of a configuration is one that the program takes.
func TestPagesShowRealConfigurations(t *testing.T) {
	t.Parallel()
	path, shown := program(t), 0
	for _, page := range operatorPages(t) {
		for _, block := range configBlock.FindAllStringSubmatch(read(t, page), -1) {
			shown++
			file := filepath.Join(t.TempDir(), "gateway.yaml")
			text := strings.ReplaceAll("\n"+block[0], "\n"+block[1], "\n")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := exec.Command(path, "config", "--config", file).CombinedOutput()
			require.NoError(t, err, "%s: %s: %s", page, text, out)
		}
	}
	require.NotZero(t, shown)
}
