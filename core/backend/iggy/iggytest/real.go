package iggytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/iggykafka/gateway/internal/porttest"
)

// Absent is why a test that needs the real server is skipped.
const Absent = "no iggy-server on PATH or in IGGY_SERVER"

// maxOutput is how much of a server's output a failed test shows, in bytes.
const maxOutput = 32 << 10

// Process is a real server, in a process of its own. All methods end the test
// when they fail.
type Process struct {
	t testing.TB
	*process
}

var _ Server = (*Process)(nil)

// Real starts the real server over an empty directory, or skips the test where
// there is none. It saves every message before it answers and forces it to the
// disk (NoFsync).
func Real(t testing.TB, opts ...Option) *Process {
	t.Helper()
	binary := find()
	if binary == "" {
		t.Skip(Absent)
	}
	p, err := newProcess(binary, t.TempDir(), collect(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.port.Release)
	real := &Process{t: t, process: p}
	t.Cleanup(real.finish)
	real.Start()
	return real
}

// find returns the path of iggy-server, and "" where there is none.
func find() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	name := os.Getenv("IGGY_SERVER")
	if name == "" {
		name = "iggy-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return ""
	}
	return path
}

// newProcess has a process over dir that does not run yet.
func newProcess(binary, dir string, o options) (*process, error) {
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	port, err := porttest.Reserve()
	if err != nil {
		return nil, err
	}
	return &process{binary: binary, data: data, output: filepath.Join(dir, "iggy-server.log"), options: o, port: port}, nil
}

func (p *Process) finish() {
	p.t.Helper()
	if err := p.kill(); err != nil {
		p.t.Error(err)
	}
	if p.t.Failed() {
		p.t.Logf("the end of iggy-server's output:\n%s", tail(p.output))
	}
}

// colours are what iggy-server puts around the parts of its lines.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// tail returns the last maxOutput bytes of a file, without colours.
func tail(name string) []byte {
	all, err := os.ReadFile(name)
	if err != nil {
		return []byte(err.Error())
	}
	return colours.ReplaceAll(all[max(0, len(all)-maxOutput):], nil)
}

// Data is the directory of the server's data, which may be looked at and changed
// while the server does not run.
func (p *Process) Data() string { return p.data }

// Pid is the server's process id, and 0 while it does not run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return 0
	}
	return p.run.process.Pid
}

func (p *Process) Kill()   { p.t.Helper(); p.must(p.kill()) }
func (p *Process) Stop()   { p.t.Helper(); p.must(p.stop()) }
func (p *Process) Start()  { p.t.Helper(); p.must(p.start()) }
func (p *Process) Pause()  { p.t.Helper(); p.must(p.pause()) }
func (p *Process) Resume() { p.t.Helper(); p.must(p.resume()) }

func (p *Process) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}
