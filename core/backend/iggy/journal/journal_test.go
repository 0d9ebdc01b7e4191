package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

var _ View = (*Journal)(nil)

func options() Options { return Options{Stream: testStream, Host: "test", PID: 1} }

func open(t require.TestingT, c Client, change ...func(*Options)) *Journal {
	o := options()
	for _, f := range change {
		f(&o)
	}
	j, err := Open(context.Background(), c, o)
	require.NoError(t, err)
	return j
}

func set(t require.TestingT, j *Journal, key, value string) {
	require.NoError(t, j.Commit(context.Background(), []Change{{key, []byte(value)}}))
}

func all(j *Journal) map[string]string {
	m := map[string]string{}
	for k, v := range j.Scan("") {
		m[k] = string(v)
	}
	return m
}

// reopen opens the journal with a new client and closes it again.
func reopen(t require.TestingT, s *fakeServer, change ...func(*Options)) map[string]string {
	j := open(t, s.connect(), change...)
	m := all(j)
	require.NoError(t, j.Close())
	return m
}

func TestCommitAndReopen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		require.NoError(t, j.Commit(t.Context(), nil))
		require.NoError(t, j.Commit(t.Context(), []Change{{"a/1", []byte("x")}, {"a/2", []byte{}}, {"b", []byte("y")}}))
		require.NoError(t, j.Commit(t.Context(), []Change{{"b", nil}, {"", []byte("empty key")}}))
		want := map[string]string{"a/1": "x", "a/2": "", "": "empty key"}
		require.Equal(t, want, all(j))
		v, found := j.Get("a/2")
		require.True(t, found)
		require.NotNil(t, v)
		require.Empty(t, v)
		_, found = j.Get("b")
		require.False(t, found)
		var keys []string
		for k := range j.Scan("a/") {
			keys = append(keys, k)
			set(t, j, "a/3", "not of this moment")
		}
		require.Equal(t, []string{"a/1", "a/2"}, keys)
		set(t, j, "a/3", "z")
		want["a/3"] = "z"
		require.NoError(t, j.Close())
		require.NoError(t, j.Close())
		require.ErrorIs(t, j.Commit(t.Context(), []Change{{"c", nil}}), backend.ErrUnavailable)
		began := time.Now()
		require.Equal(t, want, reopen(t, s))
		require.Zero(t, time.Since(began), "a lease that was given back is free at once")
	})
}

func TestCommitTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, newFakeServer().connect())
		require.ErrorContains(t, j.Commit(t.Context(), []Change{{"a", make([]byte, MaxCommit)}}), "limit")
		require.Empty(t, all(j))
		require.NoError(t, j.Close())
	})
}

// Commits that come in while a send is under way share the next one.
func TestCommitsAreGrouped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		busy, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		c.mu.Lock()
		c.fault = func(_ int, op string) fault {
			once.Do(func() { close(busy); <-release })
			return ok
		}
		c.mu.Unlock()
		before := s.sends
		var work sync.WaitGroup
		work.Go(func() { set(t, j, "0", "") })
		<-busy
		for i := range 100 {
			work.Go(func() { set(t, j, fmt.Sprint(i+1), "") })
		}
		synctest.Wait()
		close(release)
		work.Wait()
		require.Len(t, all(j), 101)
		require.Equal(t, before+2, s.sends)
		require.NoError(t, j.Close())
	})
}

// A caller that gives up hears what is certain at that moment, and the journal
// finds out the rest.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{lostBefore, lostAfter, lostLate} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			c := s.connect()
			j := open(t, c)
			c.fault = func(n int, op string) fault {
				if op == "send" {
					c.dead = true
					return f
				}
				return ok
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			require.ErrorIs(t, j.Commit(ctx, []Change{{"a", []byte("1")}}), backend.ErrOutcomeUnknown)
			require.ErrorIs(t, j.Commit(t.Context(), []Change{{"b", []byte("1")}}), backend.ErrUnavailable, "at once: nothing of it was sent")
			require.Empty(t, all(j))
			c.mu.Lock()
			c.fault, c.dead = nil, false
			c.mu.Unlock()
			require.Eventually(t, func() bool { return len(all(j)) == 1 }, time.Minute, time.Second)
			set(t, j, "c", "1")
			want := map[string]string{"a": "1", "c": "1"}
			require.Equal(t, want, all(j))
			require.NoError(t, j.Close())
			require.Equal(t, want, reopen(t, s))
		})
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		set(t, j, "a", "1")
		c.setDead(true)
		began := time.Now()
		require.ErrorIs(t, j.Commit(t.Context(), []Change{{"a", []byte("2")}}), backend.ErrUnavailable)
		require.Zero(t, time.Since(began))
		time.Sleep(10 * time.Minute)
		require.Equal(t, map[string]string{"a": "1"}, all(j))
		c.setDead(false)
		set(t, j, "a", "3")
		require.NoError(t, j.Err())
		require.NoError(t, j.Close())
		require.Equal(t, map[string]string{"a": "3"}, reopen(t, s))
	})
}

// Messages of others are no records, and cost nobody anything.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		set(t, j, "a", "1")
		foreign := newEntry(record{})
		foreign.payload = []byte("hello")
		l := newTopicLog(c, testStream, 1, nil)
		require.NoError(t, l.send(t.Context(), j.id, []*entry{foreign}))
		set(t, j, "b", "1")
		require.NoError(t, j.Close())
		require.Equal(t, map[string]string{"a": "1", "b": "1"}, reopen(t, s))
	})
}

func TestBrokenLog(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		change func(payload []byte) []byte
		says   string
	}{
		"newer":   {func(p []byte) []byte { p[3]++; return p }, "unknown version (2)"},
		"damaged": {func(p []byte) []byte { p[len(p)-1]++; return p }, "damaged"},
		"cut":     {func(p []byte) []byte { return p[:len(p)-1] }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				j := open(t, s.connect())
				set(t, j, "a", "1")
				require.NoError(t, j.Close())
				topic := s.only()
				topic.messages[1].Payload = broken.change(topic.messages[1].Payload)
				n := len(topic.messages)
				_, err := Open(t.Context(), s.connect(), options())
				require.ErrorIs(t, err, backend.ErrStorage)
				require.ErrorContains(t, err, broken.says)
				require.ErrorContains(t, err, "state-1, offset 1")
				require.Len(t, topic.messages, n, "nothing is touched")
			})
		})
	}
}

// An unreadable offset is skipped; what the records say about it decides whether
// something is lost.
func TestUnreadableOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		for i := range 100 {
			set(t, j, fmt.Sprint(i), "1")
		}
		require.NoError(t, j.Close())
		topic := s.only()
		topic.bad = map[uint64]bool{50: true}
		_, err := Open(t.Context(), s.connect(), options())
		require.ErrorIs(t, err, backend.ErrStorage)
		require.ErrorContains(t, err, "lost 1 records")
		require.Len(t, reopen(t, s, func(o *Options) { o.AcceptLoss = true }), 99)
	})
}

// A server that comes back without the end of the log gets it from memory.
func TestShorterLog(t *testing.T) {
	t.Parallel()
	for keep := range 12 {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer()
			require.Empty(t, reopen(t, s)) // offsets 0 and 1
			j := open(t, s.connect())      // 2
			want := map[string]string{}
			for i := range 9 {
				set(t, j, fmt.Sprint(i), "1")
				want[fmt.Sprint(i)] = "1"
			}
			topic := s.only()
			topic.messages = topic.messages[:keep]
			set(t, j, "new", "1")
			want["new"] = "1"
			require.Equal(t, want, all(j))
			require.NoError(t, j.Close())
			require.Equal(t, want, reopen(t, s))
		})
	}
}

func TestTopicGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		delete(s.streams[testStream], "state-1")
		require.ErrorIs(t, j.Commit(t.Context(), []Change{{"a", nil}}), backend.ErrUnavailable)
		<-j.Lost()
		require.ErrorContains(t, j.Err(), "gone")
		require.Error(t, j.Close())
	})
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		small := func(o *Options) { o.FloorRecords, o.FloorBytes = 50, 1<<30 }
		j := open(t, s.connect(), small)
		want := map[string]string{}
		var mu sync.Mutex
		var work sync.WaitGroup
		for g := range 4 {
			work.Go(func() {
				for i := range 500 {
					key, value := fmt.Sprint(g, "/", i%10), strings.Repeat("v", i)
					set(t, j, key, value)
					mu.Lock()
					want[key] = value
					mu.Unlock()
				}
			})
		}
		work.Wait()
		require.Equal(t, want, all(j))
		time.Sleep(time.Minute)
		require.Len(t, s.names(), 1)
		require.NotEqual(t, "state-1", s.names()[0])
		require.NoError(t, j.Close())
		require.LessOrEqual(t, len(s.only().messages), 50+4*40+maxGroupRecords)
		require.Equal(t, want, reopen(t, s, small))
	})
}

// A large content goes into messages of bounded size.
func TestGenerationOfManyMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect(), func(o *Options) { o.FloorRecords, o.FloorBytes = 1, 1 })
		value := strings.Repeat("v", chunkSize/3)
		want := map[string]string{"large": strings.Repeat("l", 3*chunkSize)}
		for i := range 10 {
			want[fmt.Sprint(i)] = value
		}
		for range 5 {
			var changes []Change
			for k, v := range want {
				changes = append(changes, Change{k, []byte(v)})
			}
			require.NoError(t, j.Commit(t.Context(), changes))
		}
		time.Sleep(time.Minute)
		require.NotEqual(t, "state-1", s.names()[0])
		require.True(t, maps.Equal(want, all(j)))
		require.NoError(t, j.Close())
		complete := false
		for _, m := range s.only().messages {
			r, err := decode(m.Payload)
			require.NoError(t, err)
			complete = complete || r.kind == kindComplete
			require.True(t, complete || len(m.Payload) < 3*chunkSize+100)
		}
		require.True(t, maps.Equal(want, reopen(t, s)))
	})
}

func isOwned(err error) bool {
	owned := new(OwnedError)
	return errors.As(err, &owned)
}
