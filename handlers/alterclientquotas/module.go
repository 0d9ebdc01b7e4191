package alterclientquotas

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

type params struct {
	fx.In
	Quotas security.QuotaList `optional:"true"`
}

// Module adds the handler to the gateway.
var Module = fx.Module("alterclientquotas", fx.Provide(func(p params) handler.Out {
	return handler.Out{Handler: New(p.Quotas)}
}))
