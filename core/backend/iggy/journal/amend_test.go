package journal

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// An amendment sees every commit that came before, also those that went with it
// into the queue, and none that came after.
func TestAmendSeesWhatCameBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.connect()
		j := open(t, c)
		gate := make(chan struct{})
		c.mu.Lock()
		c.fault = func(_ int, op string) fault {
			if op == "send" {
				<-gate
			}
			return ok
		}
		c.mu.Unlock()
		var work sync.WaitGroup
		for _, do := range []func(){
			func() { set(t, j, "a", "1") },
			func() { set(t, j, "a", "2") },
			func() {
				require.NoError(t, j.Amend(t.Context(), func() []Change {
					v, _ := j.Get("a")
					return []Change{{"seen", bytes.Clone(v)}, {"a", nil}}
				}))
			},
			func() { set(t, j, "b", "3") },
			func() {
				require.NoError(t, j.Amend(t.Context(), func() []Change {
					if v, _ := j.Get("b"); string(v) != "3" {
						return []Change{{"wrong", []byte("x")}}
					}
					return nil
				}))
			},
		} {
			work.Go(do)
			synctest.Wait()
		}
		close(gate)
		work.Wait()
		want := map[string]string{"seen": "2", "b": "3"}
		require.Equal(t, want, all(j))
		require.NoError(t, j.Close())
		require.Equal(t, want, reopen(t, s))
	})
}

// Many that count do not miss one another.
func TestAmendsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, newFakeServer().connect(), func(o *Options) { o.FloorRecords = 5 })
		var work sync.WaitGroup
		for i := range 50 {
			work.Go(func() { require.NoError(t, j.Amend(t.Context(), increment(j))) })
			work.Go(func() { set(t, j, fmt.Sprint("other", i%3), "x") })
		}
		work.Wait()
		require.Equal(t, "50", all(j)["n"])
		require.NoError(t, j.Close())
	})
}

func increment(j *Journal) func() []Change {
	return func() []Change {
		v, _ := j.Get("n")
		n, _ := strconv.Atoi(string(v))
		return []Change{{"n", []byte(strconv.Itoa(n + 1))}}
	}
}

func TestAmendErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeServer().connect()
		j := open(t, c)
		large := make([]byte, MaxCommit)
		err := j.Amend(t.Context(), func() []Change { return []Change{{"k", large}} })
		require.ErrorIs(t, err, backend.ErrTooLarge)
		set(t, j, "a", "1") // it goes on

		c.setDead(true)
		err = j.Amend(t.Context(), func() []Change { return []Change{{"k", []byte("v")}} })
		require.ErrorIs(t, err, backend.ErrUnavailable)
		c.setDead(false)
		require.NotContains(t, all(j), "k")

		c.mu.Lock()
		gate := make(chan struct{})
		c.fault = func(int, string) fault { <-gate; return ok }
		c.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		err = j.Amend(ctx, func() []Change { return []Change{{"late", []byte("v")}} })
		require.ErrorIs(t, err, backend.ErrOutcomeUnknown)
		// This one waits, and goes.
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err = j.Amend(ctx, func() []Change { panic("nobody waits for it") })
		require.ErrorIs(t, err, backend.ErrUnavailable)
		close(gate)
		set(t, j, "b", "1")
		require.Equal(t, "v", all(j)["late"])
		require.NoError(t, j.Close())
		require.ErrorIs(t, j.Amend(t.Context(), increment(j)), backend.ErrUnavailable)
	})
}

// A value of the size of the largest group goes through generations and comes back.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		j := open(t, s.connect())
		value := bytes.Repeat([]byte("v"), backend.MaxGroupState)
		for i := range 6 {
			value[0] = byte('a' + i)
			require.NoError(t, j.Commit(t.Context(), []Change{{"large", value}}))
			set(t, j, fmt.Sprint("small", i), "x")
		}
		require.NotContains(t, s.names(), "state-1", "the log was cut")
		require.NoError(t, j.Close())
		got := reopen(t, s)
		require.Len(t, got, 7)
		require.Equal(t, string(value), got["large"])
	})
}
