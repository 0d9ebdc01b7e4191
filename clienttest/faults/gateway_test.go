package faults

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/internal/porttest"
)

// process is a gateway in a process of its own, over an Iggy server. It has the same address in each of its lives.
type process struct {
	t     *testing.T
	args  []string // all but the address
	addr  string
	log   string
	cmd   *exec.Cmd
	ready chan string // gets the address of the life that runs, or is closed when that one ends before
}

func startGateway(t *testing.T, iggy string, args ...string) *process {
	p := &process{t: t, addr: porttest.Address(t), log: filepath.Join(t.TempDir(), "gateway.log")}
	p.args = append([]string{
		"--admin.listen=", "--groups.initial_rebalance_delay=0s",
		"--storage.backend=iggy", "--iggy.address", iggy, "--iggy.username", iggytest.Username, "--iggy.password", iggytest.Password,
	}, args...)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			log, err := os.ReadFile(p.log)
			t.Logf("the gateway's log (%v):\n%s", err, log[max(0, len(log)-32<<10):])
		}
	})
	p.launch()
	p.await()
	return p
}

// launch begins a life of the gateway and does not wait until it serves.
func (p *process) launch() {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.t, err)
	defer log.Close()
	p.cmd = exec.Command(os.Args[0], append([]string{"--listen", p.addr}, p.args...)...)
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), role+"=gateway"), log
	_, err = p.cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, p.cmd.Start())
	ready := make(chan string, 1)
	p.ready = ready
	go func() {
		defer close(ready)
		line, _ := bufio.NewReader(out).ReadString('\n')
		if found := readyLine.FindStringSubmatch(line); found != nil {
			ready <- found[1]
		}
	}()
}

var readyLine = regexp.MustCompile(`ready on (?:\S+ [A-Z_]+ )?(\S+:\d+)`)

// await waits until the gateway serves.
func (p *process) await() {
	p.t.Helper()
	select {
	case addr, ok := <-p.ready:
		require.True(p.t, ok, "the gateway ended before it was ready")
		p.addr = addr
	case <-time.After(patience):
		require.Fail(p.t, "the gateway does not get ready")
	}
}

// kill ends the gateway at once, as kill -9 does, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	for range p.ready { // until its reader has ended
	}
}
