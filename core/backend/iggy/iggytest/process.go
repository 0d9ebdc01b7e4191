package iggytest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
	"github.com/iggykafka/gateway/internal/porttest"
)

const (
	// startTimeout is how long a server may take until it accepts a login.
	startTimeout = time.Minute
	// stopTimeout is how long an orderly end may take.
	stopTimeout = 30 * time.Second
	// startPoll is how long to wait between two looks at a server that starts.
	startPoll = 5 * time.Millisecond
	// gonePoll is the same for the port of one that has ended.
	gonePoll = time.Millisecond
)

// process is an iggy-server; its errors are for who has no testing.TB.
type process struct {
	binary, data, output string
	options              options
	port                 *porttest.Port

	mu  sync.Mutex
	run *run // nil when it does not run
}

// run is one life of a process.
type run struct {
	process *os.Process
	ended   chan struct{} // closed when it is gone
	err     error         // how it ended, from then on
}

func (p *process) Address() string { return p.port.Address }

// start starts the server and returns when it accepts logins.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil {
		return errors.New("iggytest: the server runs already")
	}
	r, err := p.launch()
	if err != nil {
		return err
	}
	p.run = r
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return p.ready(ctx, r)
}

// launch starts the program from a thread of its own, which lives as long as
// the program: the kernel ends the program when that thread ends, and so
// however this process ends.
func (p *process) launch() (*run, error) {
	output, err := os.OpenFile(p.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.binary)
	cmd.Env = append(os.Environ(), p.options.environment(p.Address(), p.data)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.data, output, output
	cmd.SysProcAttr = endWithParent()
	r := &run{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer func() { _ = output.Close() }()
		err := cmd.Start()
		r.process = cmd.Process
		started <- err
		if err == nil {
			r.err = cmd.Wait()
		}
		close(r.ended)
	}()
	return r, <-started
}

// ready waits until the server has accepted a login.
func (p *process) ready(ctx context.Context, r *run) error {
	for {
		err := p.login()
		if err == nil {
			return nil
		}
		select {
		case <-r.ended:
			return fmt.Errorf("iggytest: iggy-server ended while it started: %v", r.err)
		case <-ctx.Done():
			return fmt.Errorf("iggytest: iggy-server accepts no login: %w", err)
		case <-time.After(startPoll):
		}
	}
}

func (p *process) login() error {
	conn, err := p.dial()
	if err != nil {
		return err
	}
	return conn.Close()
}

// dial connects and logs in.
func (p *process) dial() (*wiretest.Conn, error) {
	conn, err := wiretest.Dial(p.Address(), p.options.client(), startTimeout)
	if err != nil {
		return nil, err
	}
	status, err := conn.Login(Username, Password)
	if err == nil && status != 0 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// client is the TLS of a connection to this server alone.
func (o options) client() *tls.Config {
	if o.cert == "" {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the server is ours
}

// take returns the life that runs, and leaves the process without one.
func (p *process) take() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run
	p.run = nil
	return r
}

// kill ends the server at once and returns when it is gone.
func (p *process) kill() error {
	r := p.take()
	if r == nil {
		return nil
	}
	if err := r.process.Kill(); err != nil {
		return p.gone(r, fmt.Errorf("iggytest: iggy-server had ended by itself: %w", err))
	}
	return p.gone(r, nil)
}

// gone waits for the end of a life, and then until its listener is closed too:
// the kernel takes down what was under way in an io_uring only after the
// process, and until then the listener takes connections that lead nowhere.
// It returns err, or what went wrong when that is nil.
func (p *process) gone(r *run, err error) error {
	<-r.ended
	for end := time.Now().Add(stopTimeout); time.Now().Before(end); time.Sleep(gonePoll) {
		conn, dialErr := net.DialTimeout("tcp", p.Address(), stopTimeout)
		if dialErr != nil {
			return err
		}
		_ = conn.Close()
	}
	return errors.Join(err, errors.New("iggytest: the port of an iggy-server that has ended stays open"))
}

// stop ends the server in order; one that does not heed it is killed.
func (p *process) stop() error {
	r := p.take()
	if r == nil {
		return nil
	}
	if err := terminate(r.process); err != nil {
		return p.gone(r, fmt.Errorf("iggytest: iggy-server had ended by itself: %w", err))
	}
	select {
	case <-r.ended:
		return p.gone(r, nil)
	case <-time.After(stopTimeout):
		_ = r.process.Kill()
		return p.gone(r, errors.New("iggytest: iggy-server did not end on SIGTERM"))
	}
}

// pause and resume stop the server where it stands and let it go on.
func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return errors.New("iggytest: pause of a server that does not run")
	}
	return pause(p.run.process)
}

func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return errors.New("iggytest: resume of a server that does not run")
	}
	return resume(p.run.process)
}
