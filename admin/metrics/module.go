package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
)

// Module provides /metrics. It asks for a *prometheus.Registry.
var Module = fx.Module("metrics", fx.Provide(
	func(r *prometheus.Registry) admin.Out {
		return admin.Out{Route: admin.Route{Pattern: "GET /metrics", Handler: Handler(r), Always: true}}
	},
))
