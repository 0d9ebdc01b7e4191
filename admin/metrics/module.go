package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
)

// Module provides /metrics, and registers what is measured of groups and of the
// store. It asks for a Config, a *prometheus.Registry, a coordinator.Coordinator
// and a backend.Backend.
var Module = fx.Module("metrics", fx.Provide(provide))

// provide is called when the backend has been made, so its hook runs after that
// of the backend at the start, and before it at the end.
func provide(lc fx.Lifecycle, c Config, r *prometheus.Registry, groups coordinator.Coordinator, b backend.Backend) (admin.Out, error) {
	s := newStored(b, c)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { s.gate.Open(); return nil },
		OnStop:  s.gate.Shut,
	})
	out := admin.Out{Route: admin.Route{Pattern: "GET /metrics", Handler: handler(r, s), Always: true}}
	return out, errors.Join(r.Register(s), r.Register(newGroups(groups)))
}
