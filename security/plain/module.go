package plain

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/internal/choice"
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
var Module = fx.Module("plain", fx.Provide(
	func(p params) (sasl.Out, error) {
		if p.Config.Passwords == "" {
			p.Config = DefaultConfig()
		}
		m, err := Choose(p.Config.Passwords, p.candidates())
		return sasl.Out{Mechanism: m}, err
	},
	func(p params) choice.Out { return key.Tell(p.candidates()) },
))

// candidates returns those of other modules, and "scram" where there is such a module.
func (p params) candidates() []Candidate {
	if p.Scram == nil {
		return p.Candidates
	}
	return append(p.Candidates[:len(p.Candidates):len(p.Candidates)], Candidate{
		Name: Scram, Make: func() (Passwords, error) { return Checked(p.Scram), nil },
	})
}
