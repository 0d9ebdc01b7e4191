package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

// guide does what the pages of security tell an operator to do, in one folder.
type guide struct {
	t      *testing.T
	folder string
	path   string            // where the shell finds the program
	ports  map[string]string // by the port of the pages
	tools  func() *tools
}

// Every command of the pages works, from the certificate to a client, and so does the
// certificate of a client.
func TestSecurityPages(t *testing.T) {
	t.Parallel()
	clienttest.NeedCommand(t, "openssl")
	g := &guide{t: t, folder: t.TempDir(), path: t.TempDir(), ports: map[string]string{}}
	clienttest.Command(t, "../..", "go", "build", "-o", filepath.Join(g.path, "kafka-gateway"), "./app/kafka-gateway")
	var running *tools
	g.tools = func() *tools {
		if running == nil {
			running = startTools(t, install(t, versions()[0]))
		}
		return running
	}
	steps := section(t, "../../docs/security.md", "## Step by step", "## Who could do what")
	clients := section(t, "../../docs/listeners.md", "With the authority of", "On an SSL listener")
	config := block(t, steps, "yaml")
	mutual := strings.TrimPrefix(block(t, clients, "yaml"), "listeners:\n")
	services, mapping, found := strings.Cut(mutual, "tls:\n")
	require.True(t, found)
	config = strings.Replace(config, "listeners:\n", "listeners:\n"+services, 1)
	config = strings.Replace(config, "tls:\n", "tls:\n"+mapping, 1)
	g.write("gateway.yaml", local(config)+"storage:\n  dir: data\nadmin:\n  listen: \"\"\n")
	done := 0
	for _, command := range append(commands(steps), commands(clients)...) {
		g.do(command, steps)
		done++
	}
	require.Greater(t, done, 15)
}

// section returns a part of a page.
func section(t *testing.T, page, begin, end string) string {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, begin)
	part, _, found := strings.Cut(rest, end)
	require.True(t, found, end)
	return part
}

// block returns the fenced block of a language.
func block(t *testing.T, part, language string) string {
	_, rest, found := strings.Cut(part, "```"+language+"\n")
	require.True(t, found, language)
	text, _, _ := strings.Cut(rest, "```")
	return text
}

var fenced = regexp.MustCompile("(?s)```.*?```")

// commands returns the lines of a part that are to be typed.
func commands(part string) (lines []string) {
	for line := range strings.Lines(fenced.ReplaceAllString(part, "")) {
		if command, is := strings.CutPrefix(line, "    "); is {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	return lines
}

var (
	listenPort  = regexp.MustCompile(`(listen: )(?:127\.0\.0\.1|0\.0\.0\.0):\d+`)
	examplePort = regexp.MustCompile(`localhost:(\d+)`)
	readyPort   = regexp.MustCompile(`(external|services|default) \S+ \S+:(\d+)`)
)

// local is a text of the pages for one machine, with free ports.
func local(text string) string {
	return listenPort.ReplaceAllString(strings.ReplaceAll(text, "kafka.example.com", "localhost"), "${1}127.0.0.1:0")
}

func (g *guide) write(name, text string) {
	require.NoError(g.t, os.WriteFile(filepath.Join(g.folder, name), []byte(text), 0o600))
}

// do runs one command.
func (g *guide) do(command, steps string) {
	if command == "kafka-gateway --config gateway.yaml" {
		g.start()
		password, err := os.ReadFile(filepath.Join(g.folder, "admin.password"))
		require.NoError(g.t, err)
		properties := strings.Replace(block(g.t, steps, "properties"), `password="..."`, `password="`+strings.TrimSpace(string(password))+`"`, 1)
		g.write("admin.properties", strings.Replace(properties, "ca.crt", filepath.Join(g.folder, "ca.crt"), 1))
		return
	}
	command = examplePort.ReplaceAllStringFunc(strings.ReplaceAll(command, "kafka.example.com", "localhost"), func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		return host + ":" + g.ports[port]
	})
	if tool, isTool := strings.CutPrefix(command, "kafka-"); isTool && !strings.HasPrefix(tool, "gateway") {
		words := strings.Fields(strings.NewReplacer("'", "", "admin.properties", filepath.Join(g.folder, "admin.properties")).Replace(command))
		words[0] = strings.TrimSuffix(words[0], ".sh")
		out := g.tools().run("", words...)
		require.Zero(g.t, out.code, "%s: %s%s", command, out.stdout, out.stderr)
		return
	}
	if strings.Contains(command, "| kcat ") {
		if _, err := exec.LookPath("kcat"); err != nil {
			g.t.Logf("this machine has no kcat: %s", command)
			return
		}
	}
	shell := exec.CommandContext(g.t.Context(), "sh", "-c", command)
	shell.Dir = g.folder
	shell.Env = append(os.Environ(), "PATH="+g.path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	require.NoError(g.t, err, "%s: %s", command, out)
	if strings.Contains(command, "doctor") {
		require.NotContains(g.t, string(out), "FAIL", command)
	}
}

// start starts the gateway, and has its configuration name the ports that it got.
func (g *guide) start() {
	gateway := exec.Command(filepath.Join(g.path, "kafka-gateway"), "--config", "gateway.yaml")
	gateway.Dir = g.folder
	var log bytes.Buffer
	gateway.Stderr = &log
	out, err := gateway.StdoutPipe()
	require.NoError(g.t, err)
	require.NoError(g.t, gateway.Start())
	g.t.Cleanup(func() {
		_ = gateway.Process.Signal(syscall.SIGTERM)
		_ = gateway.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(g.t, err, &log)
	config, err := os.ReadFile(filepath.Join(g.folder, "gateway.yaml"))
	require.NoError(g.t, err)
	text := string(config)
	for _, found := range readyPort.FindAllStringSubmatch(line, -1) {
		port := map[string]string{"default": "9092", "external": "9093", "services": "9094"}[found[1]]
		g.ports[port] = found[2]
	}
	require.Len(g.t, g.ports, 3, line)
	// The order of the listeners in the file.
	for _, port := range []string{"9092", "9094", "9093"} {
		text = strings.Replace(text, "listen: 127.0.0.1:0", fmt.Sprintf("listen: 127.0.0.1:%s", g.ports[port]), 1)
	}
	g.write("gateway.yaml", text)
}
