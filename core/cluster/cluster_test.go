package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type ids func() (string, error)

func (f ids) ClusterID(context.Context) (string, error) { return f() }

// The id is asked until the first answer, and never again.
func TestID(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	asked, answer := 0, error(down)
	c := New(ids(func() (string, error) { asked++; return "id", answer }), &settings.Node{ID: 7})
	for range 2 {
		_, err := c.ID(context.Background())
		require.ErrorIs(t, err, down)
	}
	answer = nil
	for range 3 {
		id, err := c.ID(context.Background())
		require.NoError(t, err)
		require.Equal(t, "id", id)
	}
	require.Equal(t, 3, asked)
	require.EqualValues(t, 7, c.Node.ID)
}

func TestIDConcurrently(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := New(ids(func() (string, error) { asked.Add(1); return "id", nil }), &settings.Node{})
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 100 {
				id, err := c.ID(context.Background())
				require.NoError(t, err)
				require.Equal(t, "id", id)
			}
		})
	}
	done.Wait()
	require.LessOrEqual(t, asked.Load(), int32(8))
}
