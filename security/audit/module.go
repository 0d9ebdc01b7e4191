package audit

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
)

// Module provides security.Audit. It needs a Config, a *zap.Logger and a
// prometheus.Registerer.
var Module = fx.Module("audit", fx.Provide(
	func(c Config, log *zap.Logger, reg prometheus.Registerer) (security.Audit, error) {
		return New(c, log, reg)
	},
))
