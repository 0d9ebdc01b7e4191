package gate_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/admin/internal/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGate(t *testing.T) {
	t.Parallel()
	var g gate.Gate
	_, _, ok := g.Enter(t.Context())
	require.False(t, ok, "before it is opened")
	require.NoError(t, g.Shut(t.Context()))

	g.Open()
	ctx, leave, ok := g.Enter(t.Context())
	require.True(t, ok)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Shut(short), context.Canceled, "somebody is inside")
	<-ctx.Done() // it has been told to leave
	_, _, ok = g.Enter(t.Context())
	require.False(t, ok)
	leave()
	require.NoError(t, g.Shut(t.Context()))
}

// Whoever got in has left when Shut returns.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var g gate.Gate
	g.Open()
	var inside, work sync.WaitGroup
	shut := make(chan struct{})
	inside.Add(8)
	for range 8 {
		work.Go(func() {
			first := true
			for {
				ctx, leave, ok := g.Enter(context.Background())
				if !ok {
					return
				}
				select {
				case <-shut:
					t.Error("let in after it was shut")
				default:
				}
				if first {
					first = false
					inside.Done()
				}
				_ = ctx.Err()
				leave()
			}
		})
	}
	inside.Wait()
	require.NoError(t, g.Shut(t.Context()))
	close(shut)
	work.Wait()
}
