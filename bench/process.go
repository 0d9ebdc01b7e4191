package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// idleConnections opens connections, makes one request on each, and measures
// what they cost the server while they are idle.
func idleConnections(ctx context.Context, t *target, o options, put sink) error {
	if t.pid == 0 {
		return nil // the process is not on this machine
	}
	before := t.resident()
	req := kmsg.NewPtrApiVersionsRequest()
	for i := range o.idle {
		c, err := t.dial()
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		defer c.Close()
		if _, err := c.Call(req); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	put(fmt.Sprintf("resident with %d idle connections", o.idle), "MB", float64(t.resident())/1e6)
	put("each idle connection", "KB", float64(t.resident()-before)/float64(o.idle)/1e3)
	return nil
}

// startup starts the server by its command and measures the time to its first
// answer and its memory at rest.
func startup(ctx context.Context, t *target, o options, put sink) error {
	if t.start == "" {
		return fmt.Errorf("needs -start-%s", strings.ToLower(t.name))
	}
	begin := time.Now()
	server, err := t.launch(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	put("start to first answer", "s", time.Since(begin).Seconds())
	t.find()
	put("resident at rest", "MB", float64(t.settled(o.rest))/1e6)
	return nil
}

// launched is a server that was started here.
type launched struct{ cmd *exec.Cmd }

// launch starts the server by its command, if it has one, and waits for its first
// answer.
func (t *target) launch(ctx context.Context) (*launched, error) {
	if t.start == "" {
		return nil, nil
	}
	args := strings.Fields(t.start)
	server := &launched{exec.CommandContext(ctx, args[0], args[1:]...)}
	server.cmd.Stderr = os.Stderr
	server.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begin := time.Now()
	if err := server.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		if c, err := t.dial(); err == nil {
			_, err = c.Call(kmsg.NewPtrApiVersionsRequest())
			c.Close()
			if err == nil {
				return server, nil
			}
		}
		if time.Since(begin) > time.Minute {
			server.stop()
			return nil, fmt.Errorf("no answer on %s within a minute", t.addr)
		}
		time.Sleep(time.Millisecond)
	}
}

// stop ends the server and what it started, and waits for it.
func (l *launched) stop() {
	if l == nil || l.cmd.ProcessState != nil {
		return
	}
	_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGTERM)
	_ = l.cmd.Wait()
}

// settled returns the resident memory of a server that was given time to rest.
func (t *target) settled(rest time.Duration) int64 {
	time.Sleep(rest)
	return t.resident()
}
