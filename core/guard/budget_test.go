package guard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What can never be granted is refused at once; a context that ends ends the
// wait with its own error.
func TestBudgetRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0, 5*time.Second)
		l := b.Lease()
		began := time.Now()
		require.ErrorIs(t, l.Reserve(context.Background(), 101), ErrBudget)
		require.Equal(t, began, time.Now())

		require.NoError(t, l.Reserve(context.Background(), 100))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		other := b.Lease()
		require.ErrorIs(t, other.Reserve(ctx, 1), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))

		require.ErrorIs(t, other.Reserve(context.Background(), 1), ErrBudget)
		require.Equal(t, Stats{Total: 100, Used: 100, Waits: 2, Waited: 6 * time.Second, Refused: 2}, b.Stats())
		l.Release()
		require.Zero(t, b.Stats().Used)
	})
}

// A request that holds a part and asks for more than the rest would wait for
// itself, and everybody behind it too: it is refused at once.
func TestNobodyWaitsForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0, 5*time.Second)
		l := b.Lease()
		require.NoError(t, l.Reserve(context.Background(), 10))
		began := time.Now()
		err := l.Reserve(context.Background(), 91)
		require.ErrorIs(t, err, ErrBudget)
		require.EqualError(t, err, "memory budget is spent: 101 bytes asked of 100")
		require.Equal(t, began, time.Now())
		require.Equal(t, Stats{Total: 100, Used: 10, Refused: 1}, b.Stats())
		require.NoError(t, l.Reserve(context.Background(), 90))
		l.Release()
	})
}

// The free part of a lease is not charged, does not wait, and comes back with
// the release.
func TestLeaseAbove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := NewBudget(100, 0, 0)
	all := b.Lease()
	require.NoError(t, all.Reserve(ctx, 100))
	l := b.LeaseAbove(64)
	require.NoError(t, l.Reserve(ctx, 60))
	require.NoError(t, l.Reserve(ctx, 4))
	require.Zero(t, l.Held())
	require.ErrorIs(t, l.Reserve(ctx, 1), ErrBudget)

	l.Release()
	all.Release()
	require.NoError(t, l.Reserve(ctx, 164))
	require.EqualValues(t, 100, l.Held())
	l.Release()
	require.NoError(t, all.Reserve(ctx, 100))
}

// The zero Lease charges nothing.
func TestZeroLease(t *testing.T) {
	t.Parallel()
	var l Lease
	require.NoError(t, l.Reserve(context.Background(), 1<<40))
	require.Zero(t, l.Held())
	l.Release()
}
