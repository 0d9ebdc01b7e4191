package security_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// There are no more turns than places; who gives up takes none.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := security.TurnsOf(2)
	for range turns.Most() {
		require.NoError(t, turns.Take(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- turns.Take(ctx) }()
	cancel()
	require.ErrorIs(t, <-waited, context.Canceled)
	turns.Give()
	require.ErrorIs(t, turns.Take(ctx), context.Canceled, "a place is no use to one who is gone")
	require.Equal(t, 1, turns.Taken())
	require.NoError(t, turns.Take(t.Context()))
	require.Positive(t, security.NewTurns().Most())
}

// The lane of suspects rests three times as long as a turn took, a second at most, and not at
// all after one that used nothing.
func TestLaneOfSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := security.TurnsOf(2)
		waited := func() time.Duration {
			began := time.Now()
			require.NoError(t, turns.TakeSuspect(t.Context()))
			return time.Since(began)
		}
		for range turns.Most() {
			require.Zero(t, waited())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, turns.TakeSuspect(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, turns.TakeSuspect(ctx), context.DeadlineExceeded, "a place is no use to one who is gone")
		require.Zero(t, turns.Taken(), "of the others'")
		turns.GiveSuspect(100 * time.Millisecond)
		require.Equal(t, 300*time.Millisecond, waited())
		turns.GiveSuspect(time.Hour)
		require.Equal(t, time.Second, waited())
		turns.GiveSuspect(0)
		require.Zero(t, waited())
		turns.GiveSuspect(0)
		turns.GiveSuspect(0)
	})
}
