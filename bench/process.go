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
		c, err := dial(t.addr)
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
func startup(ctx context.Context, t *target, _ options, put sink) error {
	if t.start == "" {
		return fmt.Errorf("needs -start-%s", strings.ToLower(t.name))
	}
	args := strings.Fields(t.start)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	for {
		if c, err := dial(t.addr); err == nil {
			_, err = c.Call(kmsg.NewPtrApiVersionsRequest())
			c.Close()
			if err == nil {
				break
			}
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("no answer on %s within a minute", t.addr)
		}
		time.Sleep(time.Millisecond)
	}
	put("start to first answer", "s", time.Since(begin).Seconds())
	time.Sleep(2 * time.Second) // at rest
	t.find()
	put("resident at rest", "MB", float64(t.resident())/1e6)
	return nil
}
