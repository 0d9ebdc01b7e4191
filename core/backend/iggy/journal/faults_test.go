package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

const (
	commits = 45 // of one run
	pairs   = 2  // of keys that they set in turn
)

// outcomes is what callers were told of their commits.
type outcomes map[int]error

// run is the life of a gateway: an open, commits through some generations, a
// renewal, a close.
func run(t *testing.T, c *fakeClient) outcomes {
	told := outcomes{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	j, err := Open(ctx, c, runOptions())
	if err != nil {
		require.ErrorIs(t, err, backend.ErrUnavailable)
		return told
	}
	for i := range commits {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		told[i] = commitOrAmend(ctx, j, i)
		cancel()
		if i == 30 {
			time.Sleep(30 * time.Second)
		}
	}
	check(t, told, all(j), true)
	require.NoError(t, j.Close())
	return told
}

func runOptions() Options {
	o := options()
	o.FloorRecords = 2
	return o
}

// transaction sets a pair of keys for itself, and takes turns with others.
func transaction(i int) []Change {
	value := []byte(fmt.Sprint(i))
	return []Change{{fmt.Sprint("left", i%pairs), value}, {fmt.Sprint("right", i%pairs), value}}
}

// commitOrAmend makes a transaction; every third is an amendment.
func commitOrAmend(ctx context.Context, j *Journal, i int) error {
	if i%3 == 0 {
		return j.Amend(ctx, func() []Change { return transaction(i) })
	}
	return j.Commit(ctx, transaction(i))
}

// check holds what is there against what callers were told: of each pair of keys,
// the last of its transactions that succeeded or a later one of unknown outcome.
// Those that were surely not written are nowhere.
func check(t require.TestingT, told outcomes, got map[string]string, running bool) {
	for k := range pairs {
		allowed := map[string]bool{"": true}
		for i := k; i < commits; i += pairs {
			err, asked := told[i]
			switch {
			case asked && err == nil:
				allowed = map[string]bool{fmt.Sprint(i): true}
			case asked && errors.Is(err, backend.ErrOutcomeUnknown):
				allowed[fmt.Sprint(i)] = true
			}
		}
		left := got[fmt.Sprint("left", k)]
		require.Equal(t, left, got[fmt.Sprint("right", k)], "half a transaction")
		require.True(t, allowed[left], "%d is %q; told %v", k, left, told)
	}
}

// once strikes at one request.
func once(n int, f fault) func(int, string) fault {
	return func(i int, _ string) fault {
		if i == n {
			return f
		}
		return ok
	}
}

// prepared is a server with a log, as a gateway left it that was killed.
func prepared(t *testing.T) *fakeServer {
	s := newFakeServer()
	c := s.connect()
	j := open(t, c)
	for i := range 3 {
		require.NoError(t, j.Commit(t.Context(), []Change{{fmt.Sprint("old", i), []byte("x")}}))
	}
	c.die()
	require.NoError(t, j.Close())
	return s
}

func requestsOfRun(t *testing.T, make func(*testing.T) *fakeServer) (n int) {
	synctest.Test(t, func(t *testing.T) {
		s := make(t)
		c := s.connect()
		for i, err := range run(t, c) {
			require.NoError(t, err, i)
		}
		n = c.requests()
		require.NotContains(t, s.names(), "state-1", "the run goes through generations")
	})
	require.Greater(t, n, 50)
	return n
}

var worlds = map[string]func(*testing.T) *fakeServer{
	"new":      func(*testing.T) *fakeServer { return newFakeServer() },
	"prepared": prepared,
}

// TestFaultAtEveryRequest: one request fails, in every way; everything goes on.
func TestFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range requestsOfRun(t, world) {
				for _, f := range []fault{before, lostBefore, lostAfter, lostLate} {
					synctest.Test(t, func(t *testing.T) {
						s := world(t)
						c := s.connect()
						c.fault = once(n, f)
						told := run(t, c)
						for i, err := range told {
							require.NotErrorIs(t, err, backend.ErrOutcomeUnknown, "commit %d, request %d, fault %d", i, n, f)
						}
						requireUnique(t, s)
						got := reopen(t, s)
						check(t, told, got, false)
						if name == "prepared" {
							require.Equal(t, "x", got["old2"])
						}
					})
				}
			}
		})
	}
}

// requireUnique: no record was stored twice.
func requireUnique(t *testing.T, s *fakeServer) {
	seen := map[string]bool{}
	for name, topic := range s.streams[testStream] {
		for _, m := range topic.messages {
			id := name + string(m.Header.Id[:])
			require.False(t, seen[id], "a record was stored twice")
			seen[id] = true
		}
	}
}

// TestCrashAtEveryRequest: the gateway is killed at one request, which the server
// has executed, has not, or executes much later.
func TestCrashAtEveryRequest(t *testing.T) {
	t.Parallel()
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range requestsOfRun(t, world) {
				for _, f := range []fault{before, lostAfter, lostLate} {
					synctest.Test(t, func(t *testing.T) {
						s := world(t)
						told := crash(t, s, n, f)
						j := open(t, s.connect(), func(o *Options) { *o = runOptions() })
						check(t, told.outcomes, all(j), false)
						if name == "prepared" {
							require.Contains(t, all(j), "old2")
						}
						if f == lostLate {
							told.late()
						}
						set(t, j, "new", "1")
						want := all(j)
						require.NoError(t, j.Close())
						j = open(t, s.connect())
						require.Equal(t, want, all(j), "request %d, fault %d", n, f)
						time.Sleep(10 * time.Second)
						require.NoError(t, j.Close())
						require.Len(t, s.names(), 1, "what does not count is deleted")
					})
				}
			}
		})
	}
}

type crashed struct {
	outcomes
	late func()
}

// crash runs a gateway until its request n.
func crash(t *testing.T, s *fakeServer, n int, f fault) crashed {
	c := s.connect()
	c.fault = func(i int, _ string) fault {
		if i == n {
			c.dead = true
			return f
		}
		return ok
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan outcomes, 1)
	go func() {
		told := outcomes{}
		defer func() { ended <- told }()
		j, err := Open(ctx, ghost{c}, runOptions())
		if err != nil {
			return
		}
		for i := 0; i < commits && ctx.Err() == nil; i++ {
			told[i] = commitOrAmend(ctx, j, i)
		}
		_ = j.Close()
	}()
	time.Sleep(20 * time.Second)
	cancel()
	told := <-ended
	c.die()
	return crashed{told, c.runLate}
}

// ghost is a client whose late request is executed after its death.
type ghost struct{ *fakeClient }

func (g ghost) Settle(ctx context.Context, _ *client.Lost) error {
	g.mu.Lock()
	dead := g.dead
	g.mu.Unlock()
	if !dead {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
