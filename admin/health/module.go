package health

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/server"
)

// Module provides /livez and /readyz. It asks for a *server.Server, a
// backend.Backend and a coordinator.Coordinator.
var Module = fx.Module("health", fx.Provide(
	func() admin.Out {
		return admin.Out{Route: admin.Route{Pattern: "GET /livez", Handler: Live(), Always: true}}
	},
	func(s *server.Server, b backend.Backend, c coordinator.Coordinator) admin.Out {
		return admin.Out{Route: admin.Route{Pattern: "GET /readyz", Handler: Ready(s, b, c), Always: true}}
	},
))
