package iggy

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// graph is an app with the module.
func graph(t *testing.T, server iggytest.Server, more ...fx.Option) *fx.App {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = server.Address(), iggytest.Username, iggytest.Password
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	return fx.New(append(more, Module, fx.Supply(cfg, catalog, zap.NewNop()), fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }))...)
}

func TestModule(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	var b backend.Backend
	registry := prometheus.NewRegistry()
	app := graph(t, server, fx.Populate(&b), fx.Provide(func() prometheus.Registerer { return registry }))
	require.NoError(t, app.Start(t.Context()))
	_, err := b.CreateTopic(t.Context(), backend.NewTopic{Name: "t", Partitions: 1})
	require.NoError(t, err)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	require.NoError(t, app.Stop(t.Context()))
}

// A gateway that has lost its stream ends, with an exit code that says so.
func TestModuleEndsWithTheLease(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	var b backend.Backend
	app := graph(t, server, fx.Populate(&b))
	require.NoError(t, app.Start(t.Context()))
	s := b.(*Store)
	topics, err := s.server.Topics(t.Context(), s.cfg.InternalStream)
	require.NoError(t, err)
	for _, one := range topics {
		require.NoError(t, s.server.DeleteTopic(t.Context(), client.Topic{Stream: s.cfg.InternalStream, Name: one.Name}))
	}
	_, err = s.NewProducerID(t.Context()) // the journal notices when it writes
	require.Error(t, err)
	select {
	case signal := <-app.Wait():
		require.Equal(t, 1, signal.ExitCode)
	case <-time.After(time.Minute):
		t.Fatal("the program goes on")
	}
	require.NoError(t, app.Stop(t.Context()))
}
