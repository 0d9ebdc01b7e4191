package server

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// storing is a Produce handler whose requests take a time, and fail when it is told to or
// when their context ends.
type storing struct {
	handler.Handler
	takes time.Duration
	fail  chan error
}

func storingFor(d time.Duration) handler.Handler {
	return storing{Handler: dispatchtest.Produce(), takes: d}
}

func (s storing) Handle(ctx context.Context, call handler.Call, req kmsg.Request) (kmsg.Response, error) {
	select {
	case <-time.After(s.takes):
		return s.Handler.Handle(ctx, call, req)
	case err := <-s.fail:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// greets is a server of pipes over the transport greeting, or without it.
func greets(t testing.TB, secured bool, change func(*Config), handlers ...handler.Handler) (*running, func() *client) {
	t.Helper()
	var opts []Option
	if secured {
		opts = append(opts, (&greeting{}).protocol(false))
	}
	r := pipesWith(t, opts, func(c *Config) {
		if secured {
			byGreeting(c)
		}
		if change != nil {
			change(c)
		}
	}, handlers...)
	return r, func() *client {
		c := r.pipe()
		if secured {
			c.greet("alice")
		}
		return c
	}
}

// stored reads the answer to a Produce of size bytes under a correlation id.
func (c *client) stored(correlation int32, size int) {
	c.t.Helper()
	c.next = correlation
	resp := c.answer(kmsg.NewPtrProduceRequest(), 9).(*kmsg.ProduceResponse)
	require.EqualValues(c.t, size, resp.Topics[0].Partitions[0].BaseOffset)
}

// sending sends a Produce of size bytes, and tells how long it took until all of it had
// been read.
func (c *client) sending(size int, correlation int32) <-chan time.Duration {
	read, began := make(chan time.Duration, 1), time.Now()
	go func() {
		c.sendRaw(frame(produceOf(size), 9, correlation)) // a pipe waits
		read <- time.Since(began)
	}()
	return read
}

// While a large request over a transport is in work the next one is read at once, and
// no third; else it is after lookAhead.
func TestReadsOn(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	for name, test := range map[string]struct {
		secured bool
		size    int
		after   time.Duration
	}{
		"large":        {true, large, 0},
		"not large":    {true, freeMemory - 1000, lookAhead},
		"in the clear": {false, large, lookAhead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, connect := greets(t, test.secured, nil, storingFor(time.Minute))
				c := connect()
				c.sendRaw(frame(produceOf(test.size), 9, 1))
				began := time.Now()
				require.Equal(t, test.after, <-c.sending(large, 2))
				go c.sendRaw(frame(produceOf(large), 9, 3))
				for i, size := range []int{test.size, large, large} {
					c.stored(int32(i+1), size)
					require.Equal(t, time.Duration(i+1)*time.Minute, time.Since(began).Truncate(time.Second))
				}
				c.Close()
			})
		})
	}
}

// What is read early has an eighth of the memory budget, for all connections together.
// A request for which there is no room in it is read when the one before has ended, and
// none keeps the room for longer than that.
func TestEarlyMemory(t *testing.T) {
	t.Parallel()
	const large = 600 << 10
	synctest.Test(t, func(t *testing.T) {
		r, connect := greets(t, true, func(c *Config) {
			c.MaxFrameSize, c.RequestMemory, c.MemoryBudget = 2<<20, 2<<20, 5<<20
		}, storingFor(time.Minute))
		first, second, third := connect(), connect(), connect()
		for _, c := range []*client{first, second, third} {
			c.sendRaw(frame(produceOf(large), 9, 1))
		}
		synctest.Wait()
		held := r.budget.Stats().Used
		require.Zero(t, <-first.sending(large, 2))
		late := second.sending(large, 2)
		require.Zero(t, <-third.sending(freeMemory-1000, 2), "which costs nothing")
		synctest.Wait()
		more := r.budget.Stats().Used - held
		require.Greater(t, more, int64(large-freeMemory-1), "one, but for what is free")
		require.LessOrEqual(t, more, earlyMemory(r.cfg))

		for _, c := range []*client{first, second, third} {
			c.stored(1, large)
		}
		require.Equal(t, time.Minute, <-late)
		// The room is free again, for one of them.
		require.Zero(t, <-second.sending(large, 3))
		late = first.sending(large, 3)
		first.stored(2, large)
		second.stored(2, large)
		third.stored(2, freeMemory-1000)
		require.Equal(t, time.Minute, <-late)
		// One that is larger than all of it.
		late = first.sending(3*large, 4)
		first.stored(3, large)
		second.stored(3, large)
		require.Equal(t, time.Minute, <-late)
		first.stored(4, 3*large)
		for _, c := range []*client{first, second, third} {
			c.Close()
		}
		synctest.Wait()
		require.Zero(t, r.budget.Stats().Used)
	})
}

// Who says that much will come takes no room with that.
func TestEarlyClaims(t *testing.T) {
	t.Parallel()
	const large = 600 << 10
	synctest.Test(t, func(t *testing.T) {
		_, connect := greets(t, true, nil, storingFor(time.Minute))
		var all []*client
		for range 3 {
			c := connect()
			all = append(all, c)
			c.sendRaw(frame(produceOf(large), 9, 1))
			c.sendRaw([]byte{0x03, 0xff, 0xff, 0xff}) // 64 MiB, all that there is
		}
		good := connect()
		good.sendRaw(frame(produceOf(large), 9, 1))
		require.Zero(t, <-good.sending(large, 2))
		for _, c := range append(all, good) {
			c.Close()
		}
	})
}

// Where nobody may wait for memory, requests that are read early do not fail for lack of
// what the ones before them are about to give back.
func TestEarlyWithoutBudgetWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size, clients, each = 1 << 20, 7, 3
		r, connect := greets(t, true, func(c *Config) {
			c.MaxFrameSize, c.RequestMemory, c.MemoryBudget, c.BudgetWait = size, size, (clients+1)*size, 0
		}, storingFor(10*time.Millisecond))
		var all []*client
		for range clients {
			c := connect()
			all = append(all, c)
			go func() {
				for i := range each {
					c.sendRaw(frame(produceOf(size-1000), 9, int32(i+1)))
				}
			}()
		}
		for i := range each {
			for _, c := range all {
				c.stored(int32(i+1), size-1000)
			}
		}
		require.Zero(t, r.budget.Stats().Refused)
		for _, c := range all {
			c.Close()
		}
	})
}

// Requests that are not early use nothing of what is set aside, whoever reads them.
func TestOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, connect := greets(t, true, func(c *Config) {
			c.MaxFrameSize, c.RequestMemory, c.MemoryBudget = 1<<20, 1<<20, 2<<20 // nothing
		}, storingFor(0))
		c := connect()
		for range 3 {
			c.ask(produceOf(100<<10), 9)
			c.ask(produceOf(10), 9)
		}
		c.ask(produceOf(10), 9)
		synctest.Wait()
		require.Zero(t, r.budget.Stats().Used)
		c.Close()
	})
}

// The largest request has its memory, and the largest answer twice its size, however much
// has been read early.
func TestEarlyMemoryIsSpare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ frame, request, budget, want int64 }{
		{100, 160, 260, 0}, {100, 160, 270, 10}, {100, 160, 1600, 200},
		{100, 60, 160, 0}, {100, 60, 200, 0}, {100, 60, 210, 10}, {100, 60, 1600, 200},
	} {
		cfg := Config{MaxFrameSize: int(c.frame), RequestMemory: c.request, MemoryBudget: c.budget}
		require.Equal(t, c.want, earlyMemory(cfg), "%+v", c)
	}
}

// A client that is throttled has nothing read early for a while.
func TestThrottledIsNotReadEarly(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	synctest.Test(t, func(t *testing.T) {
		q := &quotas{}
		r := pipesWith(t, []Option{WithQuotas(q), (&greeting{}).protocol(false)}, byGreeting,
			storingFor(10*time.Second))
		c := r.pipe()
		c.greet("alice")
		q.throttle.Store(int64(5 * time.Second))
		c.ask(produceOf(large), 9)
		q.throttle.Store(0)
		for _, test := range []struct{ rest, want time.Duration }{
			{5 * time.Second, 10 * time.Second}, // when the one before has ended
			{throttledFor, 0},
		} {
			time.Sleep(test.rest)
			c.send(produceOf(large), 9)
			read := c.sending(large, c.next+1)
			c.stored(c.next, large)
			c.stored(c.next+1, large)
			require.Equal(t, test.want, <-read)
		}
		c.Close()
	})
}

// A request that has to wait for the one before has all of read_timeout afterwards.
func TestLateHasItsTime(t *testing.T) {
	t.Parallel()
	const large = 600 << 10
	synctest.Test(t, func(t *testing.T) {
		r, connect := greets(t, true, func(c *Config) {
			c.MaxFrameSize, c.RequestMemory, c.MemoryBudget = 1<<20, 1<<20, 2<<20 // none for early ones
		}, storingFor(time.Hour))
		c := connect()
		c.sendRaw(frame(produceOf(large), 9, 1))
		late := frame(produceOf(large), 9, 2)
		go func() {
			c.sendRaw(late[:2])
			c.sendRaw(late[2 : 100<<10]) // more than is free: it waits
			time.Sleep(r.cfg.ReadTimeout - time.Second)
			c.sendRaw(late[100<<10:])
		}()
		c.stored(1, large)
		c.stored(2, large)
		c.sendRaw(late[:5])
		began := time.Now()
		io.Copy(io.Discard, c) // "adieu"
		require.Equal(t, r.cfg.ReadTimeout+perMiB(len(late)-4), time.Since(began))
		r.closed("read_timeout", 1)
	})
}

// A request that fails while the next one waits for it ends the connection at once, for
// its own reason.
func TestFailureBeforeALateOne(t *testing.T) {
	t.Parallel()
	const large = 600 << 10
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan error)
		r, connect := greets(t, true, func(c *Config) {
			c.MaxFrameSize, c.RequestMemory, c.MemoryBudget = 1<<20, 1<<20, 2<<20
		}, storing{dispatchtest.Produce(), time.Hour, fail})
		c := connect()
		c.sendRaw(frame(produceOf(large), 9, 1))
		c.sendRaw(frame(produceOf(large), 9, 2)[:1000])
		synctest.Wait()
		fail <- errors.New("broken")
		io.Copy(io.Discard, c) // "adieu"
		r.closed("handler_error", 1)
		require.Zero(t, r.budget.Stats().Used)
	})
}

// oneWay is a connection whose ends close one by one, as a socket's.
type oneWay struct {
	net.Conn // to read from
	to       net.Conn
}

func (c oneWay) Write(p []byte) (int, error) { return c.to.Write(p) }

func (c oneWay) Close() error { return errors.Join(c.Conn.Close(), c.to.Close()) }

// A client that ends its own side has its answer, unless that takes long.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	for _, takes := range []time.Duration{lookAhead / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := greets(t, true, nil, storingFor(takes))
			theirs, in := net.Pipe()
			out, mine := net.Pipe()
			r.listeners[0].ln.(*pipeListener).conns <- oneWay{in, out}
			c := &client{Conn: oneWay{mine, theirs}, t: t}
			c.greet("alice")
			c.send(produceOf(large), 9)
			began := time.Now()
			theirs.Close()
			if takes < lookAhead {
				c.stored(1, large)
			}
			io.Copy(io.Discard, mine)
			require.Equal(t, min(takes, lookAhead), time.Since(began))
			r.closed("client_closed", 1)
			c.Close()
		})
	}
}

// A shutdown answers what is in work, and not what has been read early.
func TestDrainWithEarly(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	synctest.Test(t, func(t *testing.T) {
		r, connect := greets(t, true, nil, storingFor(time.Second))
		c := connect()
		c.send(produceOf(large), 9)
		c.sendRaw(frame(produceOf(large), 9, 2))
		done := r.stopping(context.Background())
		c.stored(1, large)
		rest, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "adieu", string(rest))
		require.Equal(t, stopped{after: time.Second}, <-done)
		require.Zero(t, r.budget.Stats().Used)
	})
}
