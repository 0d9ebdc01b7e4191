package authorizer

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/choice"
)

// Out is what adds a candidate to the list.
type Out struct {
	fx.Out
	Candidate Candidate `group:"gateway.authorizers"`
}

// Module provides the chosen security.Authorizer, and its security.ACLs; each is nil
// where there is none. It asks for a [Config]. A name that no candidate has, and one
// that two have, stop the start.
var Module = fx.Module("authorizer", fx.Provide(provide, words))

type params struct {
	fx.In
	Config     Config
	Candidates []Candidate `group:"gateway.authorizers"`
}

type results struct {
	fx.Out
	Authorizer security.Authorizer
	ACLs       security.ACLs
}

func words(p params) choice.Out { return key.Tell(p.Candidates) }

func provide(p params) (results, error) {
	users, err := p.Config.superUsers()
	if err != nil {
		return results{}, err
	}
	made, err := choose(p.Config, p.Candidates)
	if made == nil {
		return results{}, err
	}
	acls, _ := made.(security.ACLs)
	return results{Authorizer: withSuperUsers{users, made}, ACLs: acls}, nil
}
