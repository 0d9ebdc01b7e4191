package coordinatortest

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
)

// Module provides c as the gateway's coordinator. It stands in the list that
// builds the gateway instead of the memory coordinator's module: exactly one
// coordinator may be provided.
func Module(c coordinator.Coordinator) fx.Option {
	return fx.Module("coordinatortest", fx.Provide(func() coordinator.Coordinator { return c }))
}
