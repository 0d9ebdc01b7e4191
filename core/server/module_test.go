package server

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// The two modules make a server of the handlers in the graph, and run it.
func TestModules(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	var s *Server
	var table *dispatch.Table
	app := fxtest.New(t, fx.NopLogger, dispatch.Module, Module,
		fx.Supply(cfg, &settings.Node{ID: 1}, zap.NewNop()),
		fx.Provide(
			func() prometheus.Registerer { return prometheus.NewRegistry() },
			func() handler.Out { return handler.Out{Handler: dispatchtest.ApiVersions()} },
			func() handler.Out { return handler.Out{Handler: dispatchtest.Heartbeat(nil)} },
			func() handler.Replacement { return handler.Replacement{Handler: dispatchtest.Heartbeat(echo)} },
			func() dispatch.Wrap {
				return dispatch.Wrap{Middleware: func(h handler.Handler) handler.Handler { return h }}
			},
		),
		fx.Invoke(func(b *guard.Budget, l dispatch.Limits) {
			require.Equal(t, dispatch.Limits{MaxFrame: 100 << 20, RequestMemory: 64 << 20}, l)
			lease := b.Lease()
			require.NoError(t, lease.Reserve(t.Context(), 448<<20), "the rest is set aside for early requests")
			require.ErrorIs(t, lease.Reserve(t.Context(), 1), guard.ErrBudget)
			lease.Release()
		}),
		fx.Populate(&s, &table),
	)
	require.Nil(t, s.Addr(), "a constructor does not listen")
	app.RequireStart()
	c := (&running{Server: s, t: t}).dial()
	require.Len(t, c.ask(kmsg.NewPtrApiVersionsRequest(), 3).(*kmsg.ApiVersionsResponse).ApiKeys, 2)
	require.Equal(t, int16(9), code(c.ask(quick(9), 4)), "the replacement answers")
	require.Len(t, table.Specs(), 2)
	app.RequireStop()
	c.expectClosed()
}

// A configuration that cannot work stops the start.
func TestModuleRefusesConfig(t *testing.T) {
	t.Parallel()
	app := fx.New(fx.NopLogger, dispatch.Module, Module,
		fx.Supply(Config{}, &settings.Node{ID: 1}, zap.NewNop()),
		fx.Provide(func() prometheus.Registerer { return prometheus.NewRegistry() }))
	require.ErrorContains(t, app.Err(), "max_connections: 0 is not positive")
}
