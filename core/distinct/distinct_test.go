package distinct_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/distinct"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachIsNumberedOnce(t *testing.T) {
	t.Parallel()
	p := distinct.New(4, 6)
	topic := func(name string, id uuid.UUID, number int, first bool) {
		t.Helper()
		n, f := p.Topic(name, id)
		require.Equal(t, number, n)
		require.Equal(t, first, f)
	}
	partition := func(of int, index int32, number int, first bool) {
		t.Helper()
		n, f := p.Partition(of, index)
		require.Equal(t, number, n)
		require.Equal(t, first, f)
	}
	topic("a", uuid.Nil, 0, true)
	partition(0, 7, 0, true)
	partition(0, 3, 1, true)
	partition(0, 7, 0, false)
	topic("b", uuid.Nil, 1, true)
	partition(1, 7, 2, true)
	topic("a", uuid.UUID{1}, 2, true)
	topic("a", uuid.Nil, 0, false)
	partition(0, 3, 1, false)
	partition(2, -1, 3, true)
}

// The usual request makes no map.
func TestOnePartition(t *testing.T) { // allocations are counted: not parallel
	allocated := testing.AllocsPerRun(100, func() {
		p := distinct.New(1, 1)
		if number, first := p.Topic("a", uuid.Nil); number != 0 || !first {
			t.Error("not the first topic")
		}
		if number, first := p.Partition(0, 5); number != 0 || !first {
			t.Error("not the first partition")
		}
	})
	require.Zero(t, allocated)
}
