package ssl

import (
	"maps"
	"slices"

	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/server"
	words "github.com/iggykafka/gateway/internal/choice"
)

// Module adds the protocols SSL and SASL_SSL to those that listeners may name. It
// needs a Config, a *zap.Logger and a prometheus.Registerer.
var Module = fx.Module("ssl", fx.Provide(
	New,
	func(p *Protocols) server.ProtocolOut { return server.ProtocolOut{Protocol: p.SSL()} },
	func(p *Protocols) server.ProtocolOut { return server.ProtocolOut{Protocol: p.SASLSSL()} },
	func() words.Out {
		return words.Tell(slices.Collect(maps.Keys(clientAuths)), "listeners.NAME.client_auth")
	},
))
