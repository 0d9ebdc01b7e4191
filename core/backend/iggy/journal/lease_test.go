package journal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// An owner that lives keeps everybody else out, with or without a list of clients.
func TestSecondOwnerIsRefused(t *testing.T) {
	t.Parallel()
	for _, noList := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			s.noList = noList
			began := time.Now()
			j := open(t, s.connect(), func(o *Options) { o.Host, o.PID = "first", 42 })
			time.Sleep(time.Hour)
			set(t, j, "a", "1")
			_, err := Open(t.Context(), s.connect(), options())
			require.True(t, isOwned(err), "%v", err)
			for _, says := range []string{"stream own", "process 42", "host first", began.UTC().Format(time.RFC3339)} {
				require.ErrorContains(t, err, says)
			}
			require.LessOrEqual(t, time.Since(began), time.Hour+7*time.Second, "the first renewal is answer enough")
			set(t, j, "a", "2")
			require.NoError(t, j.Err())
			require.NoError(t, j.Close())
			require.Equal(t, map[string]string{"a": "2"}, reopen(t, s))
		})
	}
}

// After kill -9 the list of clients tells at once that the owner has gone;
// without it a TTL does.
func TestTakeoverAfterKill(t *testing.T) {
	t.Parallel()
	for noList, within := range map[bool][2]time.Duration{
		false: {0, time.Second},
		true:  {15 * time.Second, 16 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			s.noList = noList
			c := s.connect()
			j := open(t, c)
			set(t, j, "a", "1")
			c.die()
			began := time.Now()
			require.Equal(t, map[string]string{"a": "1"}, reopen(t, s))
			require.GreaterOrEqual(t, time.Since(began), within[0])
			require.LessOrEqual(t, time.Since(began), within[1])
			require.NoError(t, j.Close())
		})
	}
}

// An owner that was cut off for longer than a TTL finds out with its next word
// that it is one no longer, and what it says does not count.
func TestFormerOwnerIsFenced(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"commit", "renewal", "current", "close"} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			s.noList = true
			c := s.connect()
			former := open(t, c)
			set(t, former, "a", "1")
			c.setDead(true)
			j := open(t, s.connect(), func(o *Options) { o.Host, o.PID = "second", 7 })
			set(t, j, "a", "2")
			c.setDead(false)
			switch next {
			case "commit":
				err := former.Commit(t.Context(), []Change{{"a", []byte("3")}})
				require.ErrorIs(t, err, backend.ErrUnavailable)
				require.NotErrorIs(t, err, backend.ErrOutcomeUnknown)
			case "renewal":
				time.Sleep(6 * time.Second)
			case "current":
				require.ErrorIs(t, former.Current(t.Context()), backend.ErrUnavailable)
			}
			if next != "close" {
				<-former.Lost()
				require.ErrorIs(t, former.Err(), backend.ErrUnavailable)
				require.ErrorContains(t, former.Err(), "process 7 on host second")
				require.ErrorIs(t, former.Commit(t.Context(), []Change{{"a", nil}}), backend.ErrUnavailable)
			}
			_ = former.Close()
			set(t, j, "b", "1")
			require.Equal(t, map[string]string{"a": "2", "b": "1"}, all(j))
			require.NoError(t, j.Close())
			require.Equal(t, map[string]string{"a": "2", "b": "1"}, reopen(t, s))
		})
	}
}

// Whether the journal is ours is asked of the log only when the last word in it is
// so old that it may be another's.
func TestCurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		s.noList = true
		c := s.connect()
		j := open(t, c)
		asked := func() int {
			before := s.sent()
			require.NoError(t, j.Current(t.Context()))
			return s.sent() - before
		}
		require.Zero(t, asked(), "right after the start")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, asked(), "renewed in time")
		c.setDead(true)
		time.Sleep(15 * time.Second)
		c.setDead(false)
		require.Eventually(t, func() bool { return j.Current(t.Context()) == nil }, time.Minute, time.Millisecond)
		require.Zero(t, asked(), "the answer is good for a while")
		require.NoError(t, j.Close())
		require.ErrorIs(t, j.Current(t.Context()), backend.ErrUnavailable)
	})
}

// A commit that reached the log before the takeover is stored, and its caller is
// told so although the journal is lost.
func TestCommitBeforeTakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		s.noList = true
		c := s.connect()
		former := open(t, c)
		c.mu.Lock()
		c.fault = func(_ int, op string) fault {
			if op == "send" {
				c.dead = true
				return lostAfter
			}
			return ok
		}
		c.mu.Unlock()
		answer := make(chan error, 1)
		go func() { answer <- former.Commit(context.Background(), []Change{{"a", []byte("1")}}) }()
		synctest.Wait()
		j := open(t, s.connect())
		c.mu.Lock()
		c.dead, c.fault = false, nil
		c.mu.Unlock()
		require.NoError(t, <-answer)
		<-former.Lost()
		_ = former.Close()
		require.Equal(t, map[string]string{"a": "1"}, all(j))
		require.NoError(t, j.Close())
	})
}

// A lease that could not name the owner's connections, because the server was not
// ready to list them, does so soon: a kill after that is noticed at once.
func TestLeaseNamesConnectionsLater(t *testing.T) {
	t.Parallel()
	for _, blind := range []string{"claim", "renewal"} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			c := s.connect()
			change := func(blind bool, local string) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.blind, c.local = blind, local
			}
			change(blind == "claim", "127.0.0.1:1")
			j := open(t, c)
			set(t, j, "a", "1")
			change(true, "127.0.0.1:2")
			time.Sleep(1500 * time.Millisecond)
			change(false, "127.0.0.1:2")
			time.Sleep(2500 * time.Millisecond)
			c.die()
			began := time.Now()
			require.Equal(t, map[string]string{"a": "1"}, reopen(t, s))
			require.LessOrEqual(t, time.Since(began), time.Second, blind)
			require.NoError(t, j.Close())
		})
	}
}

// A commit of a killed owner that reaches the log late is in effect, and no sign of
// life.
func TestLateCommitIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		former := open(t, ghost{c})
		c.mu.Lock()
		c.fault = func(int, string) fault {
			c.dead = true
			return lostLate
		}
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, former.Commit(ctx, []Change{{"a", []byte("1")}}), backend.ErrOutcomeUnknown)
		go func() {
			time.Sleep(600 * time.Millisecond)
			c.runLate()
			c.die()
		}()
		require.Equal(t, map[string]string{"a": "1"}, reopen(t, s))
		require.NoError(t, former.Close())
	})
}

// Of candidates that come at once exactly one wins, at the first start of all and
// after a kill.
func TestOneCandidateWins(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"new", "killed", "closed", "silent"} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			s.noList = kind == "silent"
			if kind != "new" {
				c := s.connect()
				j := open(t, c)
				set(t, j, "a", "1")
				if kind != "closed" {
					c.die()
				}
				require.NoError(t, j.Close())
			}
			var mu sync.Mutex
			var winners []*Journal
			var work sync.WaitGroup
			for i := range 5 {
				work.Go(func() {
					j, err := Open(context.Background(), s.connect(), Options{Stream: testStream, Host: fmt.Sprint(i), PID: i + 1})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						winners = append(winners, j)
					} else {
						require.True(t, isOwned(err), "%v", err)
					}
				})
			}
			work.Wait()
			require.Len(t, winners, 1)
			set(t, winners[0], "b", "1")
			require.NoError(t, winners[0].Close())
			require.Equal(t, "1", reopen(t, s)["b"])
		})
	}
}

// No lease is lost because the server was away, nor because the connections
// changed: another start sees the renewal, or that the new ones are there.
func TestLeaseSurvivesServerAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		set(t, j, "a", "1")
		c.setDead(true)
		time.Sleep(10 * time.Minute)
		c.mu.Lock()
		c.dead, c.local = false, "127.0.0.1:2"
		c.mu.Unlock()
		time.Sleep(2 * time.Second)
		_, err := Open(t.Context(), s.connect(), options())
		require.True(t, isOwned(err), "%v", err)
		set(t, j, "a", "2")
		require.NoError(t, j.Close())
	})
}

// While the server is away a start waits for it, as long as it may.
func TestOpenWaitsForServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		c.setDead(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Open(ctx, c, options())
		require.ErrorIs(t, err, backend.ErrUnavailable)
		go func() {
			time.Sleep(time.Minute)
			c.setDead(false)
		}()
		j := open(t, c)
		set(t, j, "a", "1")
		require.NoError(t, j.Close())
	})
}

func TestCloseWhileServerAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		c.mu.Lock()
		c.fault = func(_ int, op string) fault {
			if op == "send" {
				c.dead = true
			}
			return lostAfter
		}
		c.mu.Unlock()
		answer := make(chan error, 1)
		go func() { answer <- j.Commit(context.Background(), []Change{{"a", []byte("1")}}) }()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, j.Close())
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
		require.ErrorIs(t, <-answer, backend.ErrOutcomeUnknown)
	})
}
