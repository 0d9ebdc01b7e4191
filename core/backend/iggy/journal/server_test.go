package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

const (
	soon = 30 * time.Second
	tick = 5 * time.Millisecond
	// largeCommit is more than the SDK itself puts into a message.
	largeCommit = 12 << 20
)

// connect makes a client of a server, as a gateway has one.
func connect(t testing.TB, server iggytest.Server) *client.Client {
	t.Helper()
	cfg := client.DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = server.Address(), iggytest.Username, iggytest.Password
	cfg.Connections = client.Connections{Send: 1, Poll: 1, Admin: 2}
	c, err := client.New(cfg, client.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	require.NoError(t, c.Start(ctx))
	return c
}

func logged(t testing.TB) func(*Options) {
	return func(o *Options) { o.Log = zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)) }
}

// keeps ends a journal, which has what it should, and so has the next start.
func keeps(t *testing.T, server iggytest.Server, j *Journal, want map[string]string) {
	t.Helper()
	require.Equal(t, want, all(j))
	require.NoError(t, j.Close())
	j = open(t, connect(t, server), logged(t))
	require.Equal(t, want, all(j))
	require.NoError(t, j.Close())
}

func TestServerKeepsJournal(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		small := func(o *Options) { o.FloorRecords = 100 }
		j := open(t, connect(t, server), small, logged(t))
		want, mu, work := map[string]string{}, sync.Mutex{}, sync.WaitGroup{}
		for g := range 8 {
			work.Go(func() {
				for i := range 100 {
					key, value := fmt.Sprint(g, "/", i%5), fmt.Sprint(i)
					if err := j.Commit(t.Context(), []Change{{key, []byte(value)}, {key + "/gone", []byte("x")}, {key + "/gone", nil}}); err != nil {
						t.Error(err)
					}
					mu.Lock()
					want[key] = value
					mu.Unlock()
				}
			})
		}
		work.Wait()
		require.Equal(t, want, all(j))
		require.NoError(t, j.Close())
		server.Kill()
		server.Start()
		c := connect(t, server)
		j = open(t, c, small, logged(t))
		require.Equal(t, want, all(j))
		require.Eventually(t, func() bool {
			topics, err := c.Topics(t.Context(), testStream)
			return err == nil && len(topics) == 1 && topics[0].Name != "state-1"
		}, soon, tick)
		large := []Change{{"large", make([]byte, largeCommit)}}
		require.NoError(t, j.Commit(t.Context(), large))
		require.NoError(t, j.Close())
		j = open(t, connect(t, server))
		require.Len(t, all(j)["large"], largeCommit)
		require.NoError(t, j.Close())
	})
}

// A gateway that was killed is succeeded at once.
func TestServerQuickRestart(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		c := connect(t, server)
		former := open(t, c, logged(t))
		for i := range 100 {
			set(t, former, fmt.Sprint(i), "x")
		}
		c.Close() // the sockets are closed, and no lease is given back
		next := connect(t, server)
		began := time.Now()
		j := open(t, next, logged(t))
		t.Logf("taken over after %v", time.Since(began))
		require.Less(t, time.Since(began), 2*time.Second)
		require.Len(t, all(j), 100)
		require.NoError(t, j.Close())
		require.NoError(t, former.Close())
	})
}

func TestServerRefusesSecondOwner(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		j := open(t, connect(t, server), func(o *Options) { o.Renew = 500 * time.Millisecond })
		_, err := Open(t.Context(), connect(t, server), options())
		require.True(t, isOwned(err), "%v", err)
		set(t, j, "a", "1")
		require.NoError(t, j.Close())
	})
}

// load commits rising numbers, each by one caller, until it is told to end.
type load struct {
	mu           sync.Mutex
	acked, tried map[string]int
	work         sync.WaitGroup
	end          context.CancelFunc
}

func startLoad(t *testing.T, present func() (*Journal, context.Context)) *load {
	l := &load{acked: map[string]int{}, tried: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	for g := range 4 {
		key := fmt.Sprint("g", g)
		l.work.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				l.note(l.tried, key, i)
				j, lives := present()
				within, cancel := context.WithTimeout(lives, 10*time.Second)
				err := j.Commit(within, []Change{{key, []byte(strconv.Itoa(i))}})
				cancel()
				switch {
				case err == nil:
					l.note(l.acked, key, i)
				case errors.Is(err, backend.ErrUnavailable):
					_ = sleep(ctx, tick)
				case errors.Is(err, backend.ErrOutcomeUnknown):
					_ = sleep(ctx, tick)
				default:
					t.Error(err)
				}
			}
		})
	}
	return l
}

func (l *load) note(in map[string]int, key string, i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in[key] = i
}

// progress waits until every caller has got on by n commits.
func (l *load) progress(t *testing.T, n int) {
	l.mu.Lock()
	before := map[string]int{}
	for k, v := range l.acked {
		before[k] = v
	}
	l.mu.Unlock()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for g := range 4 {
			if key := fmt.Sprint("g", g); l.acked[key] < before[key]+n {
				return false
			}
		}
		return true
	}, soon, tick)
}

// check: everything that was acknowledged is there.
func (l *load) check(t *testing.T, got map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, acked := range l.acked {
		stored, err := strconv.Atoi(got[key])
		require.NoError(t, err)
		require.GreaterOrEqual(t, stored, acked, "an acknowledged commit is lost")
		require.LessOrEqual(t, stored, l.tried[key])
	}
}

func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t)
		j := open(t, connect(t, server), logged(t), func(o *Options) { o.FloorRecords = 200 })
		l := startLoad(t, func() (*Journal, context.Context) { return j, context.Background() })
		for range 5 {
			l.progress(t, 20)
			server.Kill()
			server.Start()
		}
		l.progress(t, 20)
		server.Pause()
		require.Eventually(t, func() bool {
			// One that is on its way hears nothing; those that come after it do.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			return errors.Is(j.Commit(ctx, []Change{{"x", nil}}), backend.ErrUnavailable) && ctx.Err() == nil
		}, soon, tick, "what comes in while nothing moves is refused")
		server.Resume()
		l.progress(t, 20)
		l.end()
		l.work.Wait()
		l.check(t, all(j))
		require.NoError(t, j.Err())
		keeps(t, server, j, all(j))
	})
}

// Gateways are killed one after another, in the middle of their work.
func TestGatewayKilledUnderLoad(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		var mu sync.Mutex
		c := connect(t, server)
		j := open(t, c)
		lives, kill := context.WithCancel(context.Background())
		present := func() (*Journal, context.Context) {
			mu.Lock()
			defer mu.Unlock()
			return j, lives
		}
		l := startLoad(t, present)
		var former []*Journal
		for range 5 {
			l.progress(t, 20)
			kill()
			c.Close()
			next := connect(t, server)
			successor := open(t, next, logged(t), func(o *Options) { o.FloorRecords = 50 })
			mu.Lock()
			former = append(former, j)
			c, j = next, successor
			lives, kill = context.WithCancel(context.Background())
			mu.Unlock()
		}
		l.progress(t, 20)
		l.end()
		l.work.Wait()
		l.check(t, all(j))
		require.NoError(t, j.Close())
		kill()
		for _, f := range former {
			_ = f.Close()
		}
	})
}

// After a torn write the next message is acknowledged and cannot be read: it is
// written again.
func TestServerTornWrite(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t)
		j := open(t, connect(t, server), logged(t))
		set(t, j, "a", "1")
		for i := range 3 {
			server.Tear(testStream, "state-1", 0)
			require.Eventually(t, func() bool {
				return j.Commit(t.Context(), []Change{{fmt.Sprint("b", i), []byte("1")}}) == nil
			}, soon, tick)
		}
		keeps(t, server, j, map[string]string{"a": "1", "b0": "1", "b1": "1", "b2": "1"})
	})
}

// What a server with lax settings has lost in a kill comes back from memory.
func TestServerForgets(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.Lossy(5))
		j := open(t, connect(t, server), logged(t))
		want := map[string]string{}
		for round := range 3 {
			for i := range 10 {
				want[fmt.Sprint(round, i)] = "1"
				set(t, j, fmt.Sprint(round, i), "1")
			}
			server.Kill()
			server.Start()
			require.Eventually(t, func() bool { return j.Commit(t.Context(), []Change{{"x", nil}}) == nil }, soon, tick)
		}
		require.NoError(t, j.Close())
		server.Stop()
		server.Start()
		j = open(t, connect(t, server))
		require.Equal(t, want, all(j))
		require.NoError(t, j.Close())
	})
}

// BenchmarkCommit: callers share sends. The server writes with fsync.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(callers, "-callers"), func(b *testing.B) {
			j := open(b, connect(b, iggytest.Real(b)))
			change := []Change{{"group/topic/0", make([]byte, 50)}}
			work := make(chan struct{}, callers)
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range work {
						if err := j.Commit(context.Background(), change); err != nil {
							b.Error(err)
						}
					}
				})
			}
			b.ResetTimer()
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.StopTimer()
			require.NoError(b, j.Close())
		})
	}
}
