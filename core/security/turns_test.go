package security_test

import (
	"context"
	"testing"

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
