package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
)

func newcomer(group, client string) coordinator.JoinRequest {
	return coordinator.JoinRequest{
		Group: group, ClientID: client, SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range", Metadata: []byte("topics")}},
	}
}

func quick() coordinator.Config {
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	return cfg
}

func TestModule(t *testing.T) {
	t.Parallel()
	var got coordinator.Coordinator
	app := fxtest.New(t, fx.NopLogger, fx.Supply(quick()), memory.Module, fx.Populate(&got))
	app.RequireStart()
	require.Equal(t, coordinator.None, got.Join(t.Context(), newcomer("g", "a")).Code)
	app.RequireStop()
}
