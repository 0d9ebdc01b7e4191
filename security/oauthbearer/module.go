package oauthbearer

import (
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/sasl"
)

type params struct {
	fx.In
	Config    Config `optional:"true"`
	Log       *zap.Logger
	Lifecycle fx.Lifecycle
}

// Module adds OAUTHBEARER to the mechanisms that sasl.mechanisms may name. It needs a
// [Config] with a key set, and cannot be used without.
var Module = fx.Module("oauthbearer", fx.Provide(func(p params) (sasl.Out, error) {
	p.Config.warn(p.Log.Named("oauthbearer"))
	if p.Config.JWKS == "" {
		return sasl.Out{Mechanism: New(nil)}, nil
	}
	if err := p.Config.Validate(); err != nil {
		return sasl.Out{}, err
	}
	keys := NewKeys(p.Config, p.Log)
	tokens, err := NewTokens(p.Config, keys)
	if err != nil {
		return sasl.Out{}, err
	}
	p.Lifecycle.Append(fx.StartStopHook(keys.Start, keys.Stop))
	return sasl.Out{Mechanism: New(tokens)}, nil
}))
