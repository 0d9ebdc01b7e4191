package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
)

// Module provides *Store, whose series are among the gateway's. It needs a Config
// and a prometheus.Registerer.
var Module = fx.Module("telemetry", fx.Provide(func(c Config, reg prometheus.Registerer) (*Store, error) {
	s := New(c, time.Now)
	return s, reg.Register(s)
}))
