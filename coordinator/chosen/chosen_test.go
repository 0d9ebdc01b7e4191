package chosen_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/chosen"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/durable"
	"github.com/iggykafka/gateway/coordinator/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledger counts what is asked of it.
type ledger struct {
	coordinatortest.Ledger
	loads int
}

func (l *ledger) EachGroup(ctx context.Context, each func(string, []byte) error) error {
	l.loads++
	return l.Ledger.EachGroup(ctx, each)
}

func list(name string, l coordinator.Ledger, more ...fx.Option) fx.Option {
	cfg := coordinator.DefaultConfig()
	cfg.Coordinator = name
	return fx.Options(append(more,
		fx.NopLogger, fx.Supply(cfg, zap.NewNop()), fx.Provide(func() coordinator.Ledger { return l }),
		chosen.Module, memory.Candidate, durable.Candidate,
	)...)
}

// Only the chosen coordinator is made, started and stopped.
func TestOnlyTheChosen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]coordinator.Coordinator{"memory": &memory.Coordinator{}, "durable": &durable.Coordinator{}} {
		var got coordinator.Coordinator
		l := &ledger{}
		app := fxtest.New(t, list(name, l, fx.Populate(&got)))
		require.IsType(t, want, got)
		app.RequireStart()
		require.Empty(t, got.List(t.Context(), coordinator.Filter{}))
		app.RequireStop()
		require.Equal(t, name == "durable", l.loads > 0, name)
	}
}

// A further coordinator is one more candidate in the list.
func TestAFurtherCandidate(t *testing.T) {
	t.Parallel()
	mine := &coordinatortest.Fake{}
	candidate := func(name string) fx.Option {
		return fx.Provide(func() chosen.Out {
			return chosen.Out{Candidate: chosen.Candidate{Name: name, Make: func() coordinator.Coordinator { return mine }}}
		})
	}
	var got coordinator.Coordinator
	fxtest.New(t, list("mine", &ledger{}, candidate("mine"), fx.Populate(&got))).RequireStart().RequireStop()
	require.Same(t, mine, got)

	err := fx.New(list("tape", &ledger{}, candidate("mine"), fx.Populate(&got))).Err()
	require.ErrorContains(t, err, `groups.coordinator: "tape" is none of durable, memory, mine`)
	err = fx.New(list("memory", &ledger{}, candidate("memory"), fx.Populate(&got))).Err()
	require.ErrorContains(t, err, `groups.coordinator: two coordinators have the name "memory"`)
}

// A coordinator's own module may stand in the place of the list.
func TestInPlaceOfTheList(t *testing.T) {
	t.Parallel()
	var got coordinator.Coordinator
	cfg := coordinator.DefaultConfig()
	fxtest.New(t, fx.NopLogger, fx.Supply(cfg), memory.Module, fx.Populate(&got)).RequireStart().RequireStop()
	require.IsType(t, &memory.Coordinator{}, got)
	l := &ledger{}
	fxtest.New(t, fx.NopLogger, fx.Supply(cfg, zap.NewNop()), fx.Provide(func() coordinator.Ledger { return l }), durable.Module,
		fx.Populate(&got)).RequireStart().RequireStop()
	require.IsType(t, &durable.Coordinator{}, got)
	require.Equal(t, 1, l.loads)
}
