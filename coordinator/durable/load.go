package durable

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// Pauses between two tries to load: each is twice the one before.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 5 * time.Second
)

// load takes in all groups, however often it has to try. It reports false when
// the coordinator was stopped before. The channel is closed after the first try.
func (c *Coordinator) load(tried chan<- struct{}) bool {
	began := c.clock.Now()
	for try := 0; ; try++ {
		n, err := c.loadOnce()
		if err == nil {
			c.host.Run()
			c.ready.Store(true)
			close(c.loaded)
			c.log.Info("groups are loaded", zap.Int("groups", n), zap.Duration("took", c.clock.Now().Sub(began)))
		}
		if try == 0 {
			if err != nil {
				c.log.Warn("groups cannot be loaded yet; clients are told to wait", zap.Error(err))
			}
			close(tried)
		}
		if err == nil {
			return true
		}
		why := err.Error()
		c.why.Store(&why)
		pause := longestPause
		if try < 4 { // 2⁴ × 500 ms is more than the longest
			pause = firstPause << try
		}
		if !c.sleep(pause) {
			return false
		}
	}
}

// loadOnce is one try.
func (c *Coordinator) loadOnce() (n int, err error) {
	c.host.Reset()
	err = c.ledger.EachGroup(c.ctx, func(group string, state []byte) error {
		n++
		if err := c.host.Restore(group, state); err != nil {
			c.log.Error("the saved state of a group cannot be read; its members have to join again, its offsets are kept",
				zap.String("group", group), zap.Int("bytes", len(state)), zap.Error(err))
		}
		return c.ctx.Err()
	})
	if err != nil {
		return n, fmt.Errorf("load groups: %w", err)
	}
	return n, nil
}

// wait waits for the groups. It reports false when ctx ends before.
func (c *Coordinator) wait(ctx context.Context) bool {
	select {
	case <-c.loaded:
		return true
	default:
	}
	select {
	case <-c.loaded:
		return true
	case <-ctx.Done():
		return false
	case <-c.ctx.Done():
		return false
	}
}
