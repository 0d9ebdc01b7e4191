package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// A throttled client has its answer at once, and is not read for as long as it is
// throttled (KIP-219). What comes later goes on, the idle time too.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		r := pipesWith(t, []Option{WithQuotas(q)}, nil, dispatchtest.Heartbeat(nil))
		c := r.pipe()
		q.throttle.Store(int64(8 * time.Second))
		began := time.Now()
		first := c.ask(quick(0), 4).(*kmsg.HeartbeatResponse)
		require.Zero(t, time.Since(began), "the answer does not wait")
		require.EqualValues(t, 8000, first.ThrottleMillis)
		q.throttle.Store(0)
		c.ask(quick(0), 4)
		require.Equal(t, 8*time.Second, time.Since(began))
		c.ask(quick(0), 4)
		require.Equal(t, 8*time.Second, time.Since(began))

		q.throttle.Store(int64(time.Minute))
		c.ask(quick(0), 4)
		require.Equal(t, time.Minute+10*time.Minute, c.closedAfter())
		r.closed("idle_timeout", 1)
	})
}

// A request that lay there while the client was throttled has all of read_timeout
// afterwards.
func TestThrottledInTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		r := pipesWith(t, []Option{WithQuotas(q)}, nil, dispatchtest.Heartbeat(nil), dispatchtest.Produce())
		c := r.pipe()
		q.throttle.Store(int64(time.Minute))
		c.ask(quick(0), 4)
		q.throttle.Store(0)
		began := time.Now()
		go c.ask(produceOf(100<<10), 9)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		require.Zero(t, value(t, r.metrics.received)-float64(len(frame(quick(0), 4, 1))))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, time.Minute, time.Since(began))
		require.NotZero(t, value(t, r.metrics.received)-float64(len(frame(quick(0), 4, 1))))
		c.Close()
	})
}

// A producer that wants no answers is throttled, too.
func TestThrottledSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		r := pipesWith(t, []Option{WithQuotas(producing{q})}, nil, metered{dispatchtest.Produce()})
		c := r.pipe()
		req := produceOf(10)
		req.Acks = 0
		q.throttle.Store(int64(time.Second))
		began := time.Now()
		for range 5 {
			c.send(req, 9)
		}
		c.ask(produceOf(10), 9)
		require.GreaterOrEqual(t, time.Since(began), 4*time.Second)
		c.Close()
	})
}

// A throttled client holds nothing of the memory budget.
func TestThrottledHoldsNoMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		q.throttle.Store(int64(time.Hour))
		r := pipesWith(t, []Option{WithQuotas(q)}, nil, dispatchtest.Produce())
		c := r.pipe()
		c.ask(produceOf(1<<20), 9)
		synctest.Wait()
		require.Zero(t, r.budget.Stats().Used)
		c.Close()
	})
}

// metered is a handler whose requests count for producer_byte_rate.
type metered struct{ handler.Handler }

func (m metered) Spec() handler.Spec {
	spec := m.Handler.Spec()
	spec.Uses = security.ProducedBytes
	return spec
}

// producing throttles by what is produced.
type producing struct{ *quotas }

func (q producing) Use(security.Requester, security.QuotaKind, float64) time.Duration {
	return time.Duration(q.throttle.Load())
}

// The client's end and a shutdown end the wait.
func TestThrottledEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		q.throttle.Store(int64(time.Hour))
		r := pipesWith(t, []Option{WithQuotas(q)}, nil, dispatchtest.Heartbeat(nil))
		gone, there := r.pipe(), r.pipe()
		gone.ask(quick(0), 4)
		there.ask(quick(0), 4)
		time.Sleep(time.Minute)
		began := time.Now()
		gone.Close()
		r.closed("client_closed", 1)
		require.Zero(t, time.Since(began).Truncate(time.Second))
		require.Equal(t, stopped{}, <-r.stopping(context.Background()))
		there.expectClosed()
	})
}
