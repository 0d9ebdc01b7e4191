package iggyusers

import (
	"errors"

	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/security/plain"
)

// Candidate adds the users of the Iggy server to those that sasl.plain.passwords may
// name, and has "auto" choose them where an Iggy server is the backend. It asks for a
// [Config], and else for the defaults.
var Candidate = fx.Module("iggyusers", fx.Provide(provide))

type params struct {
	fx.In
	Config    Config `optional:"true"`
	Lifecycle fx.Lifecycle
	Store     *iggy.Store `optional:"true"`
}

func provide(p params) plain.Out {
	return plain.Out{Candidate: plain.Candidate{
		Name: Name, Auto: p.Store != nil,
		Make: func() (plain.Passwords, error) {
			if p.Store == nil {
				return nil, errors.New("there is no Iggy server; set storage.backend to iggy, or this to scram")
			}
			if p.Config == (Config{}) {
				p.Config = DefaultConfig()
			}
			passwords := New(p.Store, p.Config)
			p.Lifecycle.Append(fx.StopHook(passwords.Close))
			return passwords, nil
		},
	}}
}
