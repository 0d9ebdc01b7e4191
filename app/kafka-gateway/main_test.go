package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// The tests run the program as its users do: as a process of its own, which is
// this test binary, told by a variable to be the program instead.
const role = "KAFKA_GATEWAY_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "gateway":
		main()
	case "stuck": // a gateway that does not get to its end
		app.Main(gateway.Plugins(), fx.Invoke(func(life fx.Lifecycle) {
			life.Append(fx.StopHook(func(context.Context) { select {} }))
		}))
	case "slow": // a gateway that does not get to its beginning
		app.Main(gateway.Plugins(), fx.Invoke(func(life fx.Lifecycle) {
			life.Append(fx.StartHook(func(context.Context) { fmt.Println("starting"); select {} }))
		}))
	default:
		iggytest.Main(m)
	}
}

// process is a running program.
type process struct {
	*exec.Cmd
	out   *bufio.Reader
	err   bytes.Buffer
	ended chan struct{}
}

// launch starts the program in a role. It is killed at the end of the test if
// it still runs then.
func launch(t *testing.T, as string, args ...string) *process {
	t.Helper()
	p := prepare(t, as, args...)
	p.begin(t)
	return p
}

// prepare does all that launch does but start it.
func prepare(t *testing.T, as string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], append([]string{"--admin.listen="}, args...)...), ended: make(chan struct{})}
	p.Env = append(os.Environ(), role+"="+as)
	p.Stderr = &p.err
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	return p
}

func (p *process) begin(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
}

// address waits for the ready line and returns the address in it.
func (p *process) address(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.Wait()
		close(p.ended)
		require.NoError(t, err, "no ready line: %s", p.err.String())
	}
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "kafka-gateway is ready on ")
	require.True(t, found, line)
	return addr
}

// end waits for the end and returns the exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	_ = p.Wait()
	close(p.ended)
	return p.ProcessState.ExitCode()
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation())...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// failure runs the program, which must not start, and returns the one line
// that says why: beyond it there may be lines about what went well before.
func failure(t *testing.T, args ...string) string {
	t.Helper()
	p := launch(t, "gateway", args...)
	require.Equal(t, 1, p.end(t))
	var lines []string
	for line := range strings.Lines(p.err.String()) {
		if !strings.Contains(line, "  INFO  ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 1, p.err.String())
	require.True(t, strings.HasPrefix(lines[0], "kafka-gateway: "), lines[0])
	return lines[0]
}

func TestServesAndEndsInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := launch(t, "gateway", "--listen=127.0.0.1:0", "--storage.dir", dir)
		c := client(t, p.address(t), kgo.ConsumeTopics("greetings"))
		if i == 0 {
			require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "greetings", Value: []byte("hello")}).FirstErr())
		}
		fetched := c.PollFetches(t.Context())
		require.NoError(t, fetched.Err())
		require.Equal(t, "hello", string(fetched.Records()[0].Value)) // in the second run, from the first

		// The client's next Fetch waits on the server: it must not hold up the end.
		begin := time.Now()
		require.NoError(t, p.Process.Signal(signal))
		require.Equal(t, 0, p.end(t), p.err.String())
		require.Less(t, time.Since(begin), 20*time.Second)
		c.Close()
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := launch(t, "stuck", "--listen=127.0.0.1:0", "--storage.backend=memory", "--log.format=json")
	p.address(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Process.Signal(os.Interrupt)) // two of one kind may arrive as one
	require.Equal(t, 1, p.end(t))
	require.Contains(t, p.err.String(), "kafka-gateway: ended by a second signal before all requests were answered\n")
}

func TestSignalDuringStart(t *testing.T) {
	t.Parallel()
	p := launch(t, "slow", "--listen=127.0.0.1:0", "--storage.backend=memory")
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "starting\n", line)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 1, p.end(t))
	require.Contains(t, p.err.String(), "kafka-gateway: ended by a signal (terminated) before it was ready\n")
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	addr := taken.Addr().String()
	require.Contains(t, failure(t, "--listen", addr, "--storage.backend=memory"), addr)
	admin := failure(t, "--listen=127.0.0.1:0", "--storage.backend=memory", "--admin.listen", addr)
	require.Contains(t, admin, "admin.listen: ")
	require.Contains(t, admin, addr)
}

func TestFolderInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := launch(t, "gateway", "--listen=127.0.0.1:0", "--storage.dir", dir)
	first.address(t)
	require.Contains(t, failure(t, "--listen=127.0.0.1:0", "--storage.dir", dir), dir)
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, first.end(t))
}

func TestFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Contains(t, failure(t, "--listen=127.0.0.1:0", "--storage.dir", file), file)
}

func TestDamagedStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, "gateway", "--listen=127.0.0.1:0", "--storage.dir", dir)
	p.address(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, p.end(t))

	manifests, err := filepath.Glob(filepath.Join(dir, "meta", "MANIFEST-*"))
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, manifest := range manifests {
		require.NoError(t, os.WriteFile(manifest, []byte("not a manifest"), 0o600))
	}
	require.Contains(t, failure(t, "--listen=127.0.0.1:0", "--storage.dir", dir), dir)
}
