package gateway_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// The pages of the repository are promises. What can be checked of them is.

var (
	code        = regexp.MustCompile("(?s)```.*?```|`[^`]*`") // f[int](x) is no link
	linkTarget  = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	heading     = regexp.MustCompile("(?m)^#+ (.*)$")
	noAnchor    = regexp.MustCompile("[^a-z0-9 _-]")
	codeBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	makeCommand = regexp.MustCompile("(?m)(?:`|^    )make ([a-z]+)")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range files(t, ".md") {
		for _, link := range linkTarget.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), ""), -1) {
			target := link[1]
			if strings.Contains(target, "://") {
				continue
			}
			if target = path.Join(path.Dir(page), target); link[1] == "" {
				target = page
			}
			_, err := os.Stat(target)
			require.NoErrorf(t, err, "%s links to %s", page, target)
			if anchor, found := strings.CutPrefix(link[2], "#"); found {
				require.Containsf(t, anchors(read(t, target)), anchor, "%s links to %s", page, target)
			}
		}
	}
}

// anchors returns what a link to a part of a page may name.
func anchors(page string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return all
}

// Every block of Go code in these pages is code of programs and tests that the
// tests compile and run.
func TestCodeOfPagesIsRealCode(t *testing.T) {
	for page, folder := range map[string]string{
		"README.md": "examples", "docs/operations.md": "admin", "coordinator/README.md": "coordinator",
	} {
		var real strings.Builder
		for _, file := range goFiles(t) {
			if within(file, folder) {
				real.WriteString(read(t, file))
			}
		}
		blocks := codeBlock.FindAllStringSubmatch(read(t, page), -1)
		require.NotEmpty(t, blocks, page)
		for _, block := range blocks {
			require.Contains(t, real.String(), block[1], page)
		}
	}
}

// The map of the rooms shows every room.
func TestReadmeShowsEveryRoom(t *testing.T) {
	readme := read(t, "README.md")
	for _, rooms := range []string{"[a-z]*", "core/*"} {
		folders, err := filepath.Glob(rooms)
		require.NoError(t, err)
		for _, folder := range folders {
			info, err := os.Stat(folder)
			require.NoError(t, err)
			room := info.IsDir() && folder != "bin" && folder != "data" && folder != "core"
			if room && !strings.Contains(readme, "["+folder+"]("+folder+")") {
				t.Errorf("the README does not show %s", folder)
			}
		}
	}
}

// The examples are short, or they are no examples. What counts is the code of
// each: not its imports, comments and tests.
func TestExamplesAreShort(t *testing.T) {
	modules, err := filepath.Glob("examples/*/go.mod")
	require.NoError(t, err)
	require.Len(t, modules, 5)
	for _, module := range modules {
		sources, err := filepath.Glob(filepath.Join(filepath.Dir(module), "*.go"))
		require.NoError(t, err)
		lines := 0
		for _, source := range sources {
			if len(sources) > 1 && filepath.Base(source) == "main_test.go" {
				continue
			}
			_, code, found := strings.Cut(read(t, source), "\n)\n")
			if !found {
				continue // no imports: a page of documentation
			}
			for line := range strings.Lines(code) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					lines++
				}
			}
		}
		require.NotZero(t, lines, module)
		require.Less(t, lines, 40, module)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// The gateway that the README starts against an Iggy server stores a record there.
func TestReadmeWithIggy(t *testing.T) {
	_, section, found := strings.Cut(read(t, "README.md"), "## With a real Iggy server\n")
	require.True(t, found)
	var commands []string
	for line := range strings.Lines(section) {
		if command, isCommand := strings.CutPrefix(line, "    "); isCommand {
			commands = append(commands, strings.TrimSpace(command))
		} else if len(commands) > 0 {
			break
		}
	}
	require.Len(t, commands, 3)
	iggy := iggytest.Real(t, iggytest.NoFsync())
	const own, free = "127.0.0.1:9092", "127.0.0.1:0"
	start := strings.Fields(strings.ReplaceAll(commands[0], "127.0.0.1:8090", iggy.Address()))
	gateway := exec.Command(start[0], append(start[1:], "--listen", free, "--admin.listen=", "--iggy.password", iggytest.Password)...)
	var log bytes.Buffer
	gateway.Stderr = &log
	gateway.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // "go run" is the parent of the gateway
	out, err := gateway.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, gateway.Start())
	defer func() {
		require.NoError(t, syscall.Kill(-gateway.Process.Pid, syscall.SIGTERM))
		_ = gateway.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, &log)
	addr := strings.TrimSpace(line[strings.LastIndex(line, " ")+1:])
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("this machine has no kcat")
	}
	var got []byte
	for _, command := range commands[1:] {
		got, err = exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, own, addr)).Output()
		require.NoError(t, err, command)
	}
	require.Equal(t, "hello\n", string(got))
}
