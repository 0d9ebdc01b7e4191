package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// inWork is a request that ends when it is told how.
type inWork struct {
	how   error
	ended chan struct{}
}

func (w *inWork) Ended() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func (w *inWork) Wait() error {
	<-w.ended
	return w.how
}

// free reports whether a budget has its parts to give, whole.
func free(t *testing.T, b *Budget, onTime, early int64) {
	t.Helper()
	for _, part := range []struct {
		sem interface {
			TryAcquire(int64) bool
			Release(int64)
		}
		size int64
	}{{b.sem, onTime}, {b.early, early}} {
		require.True(t, part.sem.TryAcquire(part.size))
		require.False(t, part.sem.TryAcquire(1))
		part.sem.Release(part.size)
	}
}

// A request that is read early uses what is set aside for those, and nothing else, until
// its turn comes; others never use it.
func TestReadEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b := NewBudget(100, 20, time.Second)
		other, before := b.Lease(), &inWork{ended: make(chan struct{})}
		require.NoError(t, other.Reserve(ctx, 80))
		require.ErrorIs(t, other.Reserve(ctx, 1), ErrBudget, "the rest is set aside")

		l := b.LeaseAbove(5)
		l.ReadEarly(before)
		require.NoError(t, l.Reserve(ctx, 5+18))
		require.EqualValues(t, 18, l.Held())
		require.EqualValues(t, 98, b.Stats().Used)

		// What is more waits for the one before, and for the budget then.
		began, reserved := time.Now(), make(chan error)
		go func() { reserved <- l.Reserve(ctx, 3) }()
		time.Sleep(time.Minute)
		close(before.ended)
		synctest.Wait()
		time.Sleep(time.Second / 2)
		other.Release()
		require.NoError(t, <-reserved)
		require.Equal(t, time.Minute+time.Second/2, time.Since(began))
		require.EqualValues(t, 21, l.Held())
		require.EqualValues(t, 21, b.Stats().Used)
		require.NoError(t, l.OnTime(ctx), "it is already")
		require.True(t, b.early.TryAcquire(20))
		b.early.Release(20)
		l.Release()
		require.Zero(t, b.Stats().Used)
		free(t, b, 80, 20)

		// The next one of the lease is as others.
		require.NoError(t, l.Reserve(ctx, 5+80))
		l.Release()
		free(t, b, 80, 20)
	})
}

// When its turn comes a request may find the budget spent, and what it holds is given
// back with the lease, as after every other end.
func TestReadEarlyEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := NewBudget(100, 20, 0)
	all := b.Lease()
	require.NoError(t, all.Reserve(ctx, 80))

	over := &inWork{ended: make(chan struct{})}
	l := b.Lease()
	l.ReadEarly(over)
	require.NoError(t, l.Reserve(ctx, 20))
	require.ErrorIs(t, l.OnTime(ctx), ErrBudget)
	require.EqualValues(t, 20, l.Held())
	l.Release()
	require.EqualValues(t, 80, b.Stats().Used)

	close(over.ended)
	l.ReadEarly(over)
	require.ErrorIs(t, l.Reserve(ctx, 1), ErrBudget, "it is not early any more")
	l.Release()

	over.how = errors.New("the client is gone")
	l.ReadEarly(over)
	require.ErrorIs(t, l.Reserve(ctx, 1), over.how)
	l.Release()
	all.Release()
	require.Zero(t, b.Stats().Used)
	free(t, b, 80, 20)
}
