package durable_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/durable"
	"github.com/iggykafka/gateway/coordinator/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a coordinator on a ledger, and stops it with the test.
func open(t testing.TB, cfg coordinator.Config, ledger coordinator.Ledger, opts ...host.Option) *durable.Coordinator {
	c := durable.New(cfg, ledger, zap.NewNop(), opts...)
	require.NoError(t, c.Start(context.Background()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, c.Stop(ctx))
	})
	return c
}

// traits are the differences from groups in memory.
var traits = coordinatortest.Traits{
	Keeps: true, OnTime: true, StableOnly: true, RetainsIdentity: true,
	AbsentCommit: coordinator.IllegalGeneration,
	Restart: func(t *testing.T, old coordinator.Coordinator, cfg coordinator.Config) coordinator.Coordinator {
		ledger := old.(onLedger).ledger.Clone() // what the old one still writes is lost
		return onLedger{open(t, cfg, ledger), ledger}
	},
}

// onLedger is a coordinator and its ledger.
type onLedger struct {
	coordinator.Coordinator
	ledger *coordinatortest.Ledger
}

func TestConform(t *testing.T) {
	t.Parallel()
	coordinatortest.Conform(t, func(t *testing.T, cfg coordinator.Config) coordinator.Coordinator {
		ledger := &coordinatortest.Ledger{}
		return onLedger{open(t, cfg, ledger), ledger}
	}, traits)
}
