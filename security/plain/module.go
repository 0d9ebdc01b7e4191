package plain

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/security/scram"
)

// Out is what adds a candidate to those that sasl.plain.passwords may name.
type Out struct {
	fx.Out
	Candidate Candidate `group:"gateway.passwords"`
}

type params struct {
	fx.In
	Config     Config           `optional:"true"`
	Candidates []Candidate      `group:"gateway.passwords"`
	Scram      *scram.Passwords `optional:"true"`
}

// Module adds PLAIN to the mechanisms that sasl.mechanisms may name, over the
// candidate that its [Config] names. With security/scram's module the candidate
// "scram" is there.
var Module = fx.Module("plain", fx.Provide(func(p params) (sasl.Out, error) {
	candidates := p.Candidates
	if p.Scram != nil {
		candidates = append(candidates[:len(candidates):len(candidates)], Candidate{
			Name: Scram, Make: func() (Passwords, error) { return Checked(p.Scram), nil },
		})
	}
	if p.Config.Passwords == "" {
		p.Config = DefaultConfig()
	}
	m, err := Choose(p.Config.Passwords, candidates)
	return sasl.Out{Mechanism: m}, err
}))
