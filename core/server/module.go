package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/settings"
)

// ProtocolOut is what adds a protocol to those that listeners may name.
type ProtocolOut struct {
	fx.Out
	Protocol Protocol `group:"gateway.protocols"`
}

// Module provides *Server, started and stopped with the application, and what
// its [Config] decides for others: *guard.Budget and dispatch.Limits. It needs
// a Config, a *dispatch.Dispatcher, a *settings.Node, a *zap.Logger and a
// prometheus.Registerer.
var Module = fx.Module("server",
	fx.Provide(
		func(c Config) *guard.Budget { return guard.NewBudget(c.MemoryBudget, c.BudgetWait) },
		func(c Config) dispatch.Limits {
			return dispatch.Limits{MaxFrame: c.MaxFrameSize, RequestMemory: c.RequestMemory}
		},
		func(
			lc fx.Lifecycle, c Config, d *dispatch.Dispatcher, b *guard.Budget, n *settings.Node,
			log *zap.Logger, reg prometheus.Registerer,
		) (*Server, error) {
			s, err := New(c, d, b, n, log, reg)
			if err != nil {
				return nil, err
			}
			lc.Append(fx.StartStopHook(s.Start, s.Stop))
			return s, nil
		},
	),
	fx.Invoke(func(*Server) {}),
)
