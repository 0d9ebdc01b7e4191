package coordinatortest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/memory"
)

// counting is how to write a coordinator that differs in one thing: embed one
// that is complete, and be the one that is provided.
type counting struct {
	coordinator.Coordinator
	joins atomic.Int64
}

func (c *counting) Join(ctx context.Context, r coordinator.JoinRequest) coordinator.JoinResult {
	c.joins.Add(1)
	return c.Coordinator.Join(ctx, r)
}

func TestWrappersConform(t *testing.T) {
	t.Parallel()
	coordinatortest.Conform(t, func(t *testing.T, cfg coordinator.Config) coordinator.Coordinator {
		c := &counting{Coordinator: memory.New(cfg)}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("after %d joins", c.joins.Load())
			}
		})
		return c
	})
}
