package sasl

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/internal/choice"
)

// Out is what adds a mechanism to those that sasl.mechanisms may name.
type Out struct {
	fx.Out
	Mechanism Mechanism `group:"gateway.mechanisms"`
}

type params struct {
	fx.In
	Config     Config
	Mechanisms []Mechanism    `group:"gateway.mechanisms"`
	Audit      security.Audit `optional:"true"`
	Metrics    prometheus.Registerer
	Turns      *security.Turns `optional:"true"`
}

// Module provides *Sasl, which is server.Logins, from the mechanisms of the graph,
// a [Config] and a prometheus.Registerer. It knows the suspects of *security.Turns where they are there.
var Module = fx.Module("sasl", fx.Provide(
	fx.Annotate(
		func(p params) (*Sasl, error) {
			var opts []Option
			if p.Turns != nil {
				opts = append(opts, WithSuspects(p.Turns.Suspects))
			}
			return New(p.Config, p.Mechanisms, p.Audit, p.Metrics, opts...)
		},
		fx.As(fx.Self()), fx.As(new(server.Logins)),
	),
	func(p params) choice.Out {
		return choice.Tell(namesOf(p.Mechanisms), "sasl.mechanisms", "mechanisms", "listeners.NAME.mechanisms")
	},
))
