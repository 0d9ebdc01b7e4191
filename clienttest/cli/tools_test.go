package cli

import (
	"bytes"
	"encoding/binary"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

// install fetches the tools of one version of Kafka and returns their class path.
func install(t *testing.T, version string) string {
	return installJava(t, "kafka-tools-"+version, "pom-"+version+".xml", "Tools.java")
}

// installJava fetches what a pom names with Maven, compiles a program against it, and returns the class path.
func installJava(t *testing.T, name, pom, source string) string {
	clienttest.NeedCommand(t, "java", "javac", "mvn")
	dir := clienttest.Install(t, name, []string{pom, source}, func(dir string) {
		// Other slf4j bindings than the pom's are left out, so that its slf4j-simple is the one.
		clienttest.Command(t, dir, "mvn", "-q", "-B", "-f", pom, "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
			"-DoutputDirectory=libs", "-DexcludeArtifactIds=slf4j-reload4j,slf4j-log4j12")
		clienttest.Command(t, dir, "javac", "-cp", filepath.Join("libs", "*"), source)
	})
	return strings.Join([]string{dir, filepath.Join(dir, "libs", "*")}, string(filepath.ListSeparator))
}

// java returns a command that runs a program in a small, quickly started Java.
func java(classPath, program string, args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{
		"-Xmx256m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classPath, program,
	}, args...)...)
}

// withOptions puts more options of java before the others.
func withOptions(cmd *exec.Cmd, options []string) *exec.Cmd {
	cmd.Args = slices.Insert(cmd.Args, 1, options...)
	return cmd
}

// tools runs the tools of one version, one after the other, in one process.
type tools struct {
	t         *testing.T
	classPath string
	options   []string // of java
	kill      func() error
	wait      func() error
	in        io.WriteCloser
	out       io.Reader
	stderr    *bytes.Buffer
}

// output is what a tool left behind.
type output struct {
	code           int
	stdout, stderr string
}

func startTools(t *testing.T, classPath string, options ...string) *tools {
	tl := &tools{t: t, classPath: classPath, options: options}
	tl.start()
	t.Cleanup(func() { tl.end() })
	return tl
}

func (tl *tools) start() {
	cmd := withOptions(java(tl.classPath, "Tools"), tl.options)
	tl.kill, tl.wait = func() error { return cmd.Process.Kill() }, cmd.Wait
	tl.stderr = &bytes.Buffer{}
	cmd.Stderr = tl.stderr
	in, err := cmd.StdinPipe()
	require.NoError(tl.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tl.t, err)
	tl.in, tl.out = in, out
	require.NoError(tl.t, cmd.Start())
}

func (tl *tools) end() {
	_ = tl.in.Close()
	_ = tl.kill() // a tool may have left threads behind
	_ = tl.wait()
}

// run runs one tool and returns when it ends. It is given a minute. One that ended the process for all, as some do
// that do not understand their arguments, is run again in its own.
func (tl *tools) run(stdin string, command ...string) output {
	tl.t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = tl.kill() })
	request := binary.BigEndian.AppendUint32(nil, uint32(len(command)))
	for _, text := range append(command[:len(command):len(command)], stdin) {
		request = append(binary.BigEndian.AppendUint32(request, uint32(len(text))), text...)
	}
	_, err := tl.in.Write(request)
	require.NoError(tl.t, err, "%v", command)
	var out output
	var code int32
	err = binary.Read(tl.out, binary.BigEndian, &code)
	if inTime := late.Stop(); err != nil && inTime {
		tl.end()
		tl.start()
		return alone(tl.t, tl.classPath, stdin, command, tl.options...)
	}
	require.NoError(tl.t, err, "%v\n%s", command, tl.stderr)
	out.code, out.stdout, out.stderr = int(code), tl.text(), tl.text()
	return out
}

// alone runs a tool in a process of its own. It is given a minute.
func alone(t *testing.T, classPath, stdin string, command []string, options ...string) output {
	t.Helper()
	cmd := withOptions(java(classPath, "Tools", command...), options)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%v", command)
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a tool that must end with code 0, and returns its standard output.
func (tl *tools) ok(stdin string, command ...string) string {
	tl.t.Helper()
	out := tl.run(stdin, command...)
	require.Zero(tl.t, out.code, "%v\n%s%s", command, out.stdout, out.stderr)
	return out.stdout
}

func (tl *tools) text() string {
	var length uint32
	require.NoError(tl.t, binary.Read(tl.out, binary.BigEndian, &length))
	text := make([]byte, length)
	_, err := io.ReadFull(tl.out, text)
	require.NoError(tl.t, err)
	return string(text)
}

// runProcess runs a tool in a process of its own. It must end with code 0; its standard output is returned.
func runProcess(t *testing.T, classPath string, command ...string) string {
	t.Helper()
	out := alone(t, classPath, "", command)
	require.Zero(t, out.code, "%v\n%s%s", command, out.stdout, out.stderr)
	return out.stdout
}

// process is a tool that runs until it is stopped, in a process of its own.
type process struct {
	stop func()
	wait func() // until it ends by itself; after two minutes it is killed

	mu  sync.Mutex
	out bytes.Buffer
}

// startProcess starts a tool. It is stopped at the end of the test at the latest.
func startProcess(t *testing.T, classPath string, command ...string) *process {
	return startJava(t, java(classPath, "Tools", command...))
}

// startJava starts a command of java's. It is stopped at the end of the test at the latest.
func startJava(t *testing.T, cmd *exec.Cmd) *process {
	p := &process{}
	cmd.Stdout = p
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	kill := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	p.wait = sync.OnceFunc(func() {
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("%v wrote:\n%s", cmd.Args, &stderr)
		}
	})
	p.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // upon which a consumer leaves its group
		p.wait()
	}
	t.Cleanup(p.stop)
	return p
}

// Write takes the process's standard output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// text is what the process has written to its standard output so far.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}
