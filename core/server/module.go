package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/internal/choice"
)

// ProtocolOut is what adds a protocol to those that listeners may name.
type ProtocolOut struct {
	fx.Out
	Protocol Protocol `group:"gateway.protocols"`
}

type listed struct {
	fx.In
	Protocols []Protocol `group:"gateway.protocols"`
}

type in struct {
	fx.In
	Life       fx.Lifecycle
	Config     Config
	Dispatcher *dispatch.Dispatcher
	Budget     *guard.Budget
	Node       *settings.Node
	Log        *zap.Logger
	Metrics    prometheus.Registerer
	Listed     listed
	Logins     Logins          `optional:"true"`
	Audit      security.Audit  `optional:"true"`
	Quotas     security.Quotas `optional:"true"`
	Turns      *security.Turns
}

// Module provides *Server, started and stopped with the application, and what
// others share with it: *guard.Budget, dispatch.Limits and *security.Turns. It needs
// a Config, a *dispatch.Dispatcher, a *settings.Node, a *zap.Logger and a
// prometheus.Registerer. It works with the protocols of [ProtocolOut], and with
// Logins, a security.Audit and security.Quotas where they are there.
var Module = fx.Module("server",
	fx.Provide(
		security.NewTurns,
		func(c Config) *guard.Budget { return guard.NewBudget(c.MemoryBudget, earlyMemory(c), c.BudgetWait) },
		func(c Config) dispatch.Limits {
			return dispatch.Limits{MaxFrame: c.MaxFrameSize, RequestMemory: c.RequestMemory}
		},
		func(i in) (*Server, error) {
			s, err := New(i.Config, i.Dispatcher, i.Budget, i.Node, i.Log, i.Metrics,
				WithProtocols(i.Listed.Protocols...), WithLogins(i.Logins), WithAudit(i.Audit), WithQuotas(i.Quotas), WithTurns(i.Turns))
			if err != nil {
				return nil, err
			}
			i.Life.Append(fx.StartStopHook(s.Start, s.Stop))
			return s, nil
		},
		func(l listed) choice.Out {
			return choice.Tell(namesOf(protocols(l.Protocols)), "protocol", "listeners.NAME.protocol")
		},
	),
	fx.Invoke(func(*Server) {}),
)
