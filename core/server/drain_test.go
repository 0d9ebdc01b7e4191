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
)

// working is a Heartbeat handler whose calls take some time, whatever happens.
func working(d time.Duration) []handler.Handler {
	return []handler.Handler{dispatchtest.Heartbeat(
		func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			time.Sleep(d)
			return kmsg.NewPtrHeartbeatResponse(), nil
		})}
}

// stopping stops a server in the background; the channel gets how long it took
// and its error.
func (r *running) stopping(ctx context.Context) <-chan stopped {
	ch := make(chan stopped, 1)
	go func() {
		began := time.Now()
		err := r.Stop(ctx)
		ch <- stopped{time.Since(began), err}
	}()
	return ch
}

type stopped struct {
	after time.Duration
	err   error
}

// Waiting calls answer at once, and their connections close behind the answer.
// Idle connections, and those that have begun a request, close.
func TestDrainAnswersParkedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParked()
		r := pipes(t, nil, p.handlers()...)
		fresh, idle, begun, parked, ahead := r.pipe(), r.pipe(), r.pipe(), r.pipe(), r.pipe()
		idle.ask(quick(0), 4)
		begun.ask(quick(0), 4)
		begun.sendRaw(frame(quick(0), 4, 2)[:9])
		parked.send(waiting(), 4)
		<-p.arrived
		ahead.send(waiting(), 4)
		<-p.arrived
		ahead.send(quick(7), 4)
		time.Sleep(time.Second)

		done := r.stopping(context.Background())
		require.Equal(t, int16(-1), code(parked.answer(waiting(), 4)))
		ahead.next = 1
		require.Equal(t, int16(-1), code(ahead.answer(waiting(), 4)))
		for _, c := range []*client{fresh, idle, begun, parked, ahead} {
			c.expectClosed()
		}
		require.Equal(t, stopped{}, <-done)
		require.Zero(t, r.connections())
		r.closed("shutdown", 5)
		require.NoError(t, r.Stop(context.Background()), "a second stop does nothing")
	})
}

// What is in work is finished and answered.
func TestDrainFinishesWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, working(20*time.Second)...)
		c := r.pipe()
		c.send(quick(0), 4)
		time.Sleep(5 * time.Second)
		done := r.stopping(context.Background())
		c.answer(quick(0), 4)
		c.expectClosed()
		require.Equal(t, stopped{after: 15 * time.Second}, <-done)
	})
}

// untilEnd is a Heartbeat handler whose calls take until their context ends.
func untilEnd(ctx context.Context, _ handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// After shutdown_drain, or when its own context ends, Stop abandons.
func TestDrainAbandons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(untilEnd))
		c := r.pipe()
		c.send(quick(0), 4)
		synctest.Wait() // the call is in work
		require.Equal(t, stopped{after: 25 * time.Second}, <-r.stopping(context.Background()))
		c.expectClosed()
		require.Equal(t, 1, r.logs.FilterMessageSnippet("abandoned: shutdown_drain is over").Len())
		r.closed("shutdown", 1)
	})
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, dispatchtest.Heartbeat(untilEnd))
		c := r.pipe()
		c.send(quick(0), 4)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.Equal(t, time.Second, (<-r.stopping(ctx)).after)
		c.expectClosed()
		require.Equal(t, 1, r.logs.FilterMessageSnippet("abandoned: the shutdown was broken off").Len())
		<-r.ends()
	})
}

// A request that does not even heed the end of its context is reported.
func TestDrainReportsStubbornWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pipes(t, nil, working(time.Minute)...)
		c := r.pipe()
		c.send(quick(0), 4)
		synctest.Wait()
		end := <-r.stopping(context.Background())
		require.Equal(t, 26*time.Second, end.after)
		require.EqualError(t, end.err, "1 requests did not end with their connections")
		c.expectClosed()
		<-r.ends()
	})
}
