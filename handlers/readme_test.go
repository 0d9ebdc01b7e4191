package handlers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// filesOfPage finds the example's files: a line with the path, and a block.
var filesOfPage = regexp.MustCompile("(?sm)^`handlers/describeclientquotas/([^`]+)`\n\n```[a-z]+\n(.*?)^```$")

// The example of the page is a handler that compiles and passes its own tests.
// It is taken from the page into a module of its own, next to this one.
func TestExampleOfThePageWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	root, err := filepath.Abs("..")
	require.NoError(t, err)

	dir := t.TempDir()
	var names []string
	for _, file := range filesOfPage.FindAllStringSubmatch(string(page), -1) {
		names = append(names, file[1])
		// Outside of the repository the package has another path, which sorts as its own does.
		text := strings.ReplaceAll(file[2], "iggykafka/gateway/handlers/describeclientquotas", "iggykafka/outside/describeclientquotas")
		write(t, filepath.Join(dir, file[1]), text)
	}
	require.ElementsMatch(t, []string{
		"README.md", "shape.go", "describeclientquotas.go", "module.go", "describeclientquotas_test.go", "testdata/versions.txt",
	}, names)

	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/iggykafka/gateway", "module github.com/iggykafka/outside/describeclientquotas", 1)
	text += "\nrequire github.com/iggykafka/gateway v0.0.0\nreplace github.com/iggykafka/gateway => " + root + "\n"
	write(t, filepath.Join(dir, "go.mod"), text)
	write(t, filepath.Join(dir, "go.sum"), string(sum))

	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	list, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(list), "not as gofmt has it")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
