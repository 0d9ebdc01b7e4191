package scram

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Module adds both mechanisms to those that sasl.mechanisms may name. It needs
// security.ScramCredentials.
var Module = fx.Module("scram", fx.Provide(
	func(users security.ScramCredentials) sasl.Out {
		return sasl.Out{Mechanism: New(security.ScramSHA256, users)}
	},
	fx.Annotate(func(users security.ScramCredentials) sasl.Mechanism {
		return New(security.ScramSHA512, users)
	}, fx.ResultTags(`group:"gateway.mechanisms"`)),
	fx.Annotate(NewPasswords, fx.ParamTags("", `optional:"true"`)),
))
