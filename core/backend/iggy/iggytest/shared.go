package iggytest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// shared is the one server of a test binary, and what became of its start.
var shared struct {
	once    sync.Once
	process *process
	dir     string
	err     error
}

// Common is a real server that the tests of a package share: each uses streams of
// its own.
type Common struct {
	t testing.TB
}

// Shared returns the server that all tests of a package share, or skips the test
// where there is none. It leaves data in the page cache. The package's TestMain
// must call Main, which ends the server.
func Shared(t testing.TB) *Common {
	t.Helper()
	binary := find()
	if binary == "" {
		t.Skip(Absent)
	}
	shared.once.Do(func() { shared.err = startShared(binary) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the shared iggy-server's output:\n%s", tail(shared.process.output))
		}
	})
	return &Common{t: t}
}

func startShared(binary string) error {
	dir, err := os.MkdirTemp("", "iggytest")
	if err != nil {
		return err
	}
	shared.dir = dir
	p, err := newProcess(binary, dir, collect([]Option{NoFsync()}))
	if err != nil {
		return err
	}
	shared.process = p
	return p.start()
}

// Address is host:port.
func (c *Common) Address() string { return shared.process.Address() }

// Stream returns a name for a stream that no other call of Stream returns.
func (c *Common) Stream() string { return UniqueStream(c.t) }

var streams atomic.Int64

// UniqueStream returns a name for a stream that tells the test and that nothing
// else in this test binary has.
func UniqueStream(t testing.TB) string {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	const longest = 200 // of 255 that Iggy takes
	return fmt.Sprintf("%s-%d", name[:min(len(name), longest)], streams.Add(1))
}

// Main is what TestMain calls: it runs the tests, ends the shared server and
// fails when goroutines are left.
//
//	func TestMain(m *testing.M) { iggytest.Main(m) }
func Main(m *testing.M, opts ...goleak.Option) { goleak.VerifyTestMain(thenStop{m}, opts...) }

type thenStop struct{ m *testing.M }

func (t thenStop) Run() int {
	code := t.m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

func stopShared() error {
	if shared.process == nil {
		return nil
	}
	defer shared.process.port.Release()
	if err := shared.process.kill(); err != nil {
		return err
	}
	return os.RemoveAll(shared.dir)
}
