package users

import (
	"errors"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
)

// Out is what puts other credentials in the place of the [Store].
type Out struct {
	fx.Out
	Credentials security.ScramCredentials `group:"gateway.scramcredentials"`
}

// Module provides security.ScramCredentials: those that an [Out] hands over, or
// else a [Store], which needs a [Config], a backend.Backend and a log.
var Module = fx.Module("users", fx.Provide(provide))

type params struct {
	fx.In
	Config    Config `optional:"true"`
	Backend   backend.Backend
	Log       *zap.Logger
	Lifecycle fx.Lifecycle
	Others    []security.ScramCredentials `group:"gateway.scramcredentials"`
}

func provide(p params) (security.ScramCredentials, error) {
	switch len(p.Others) {
	case 0:
		s := New(p.Config, p.Backend, p.Log.Named("users"))
		p.Lifecycle.Append(fx.StartStopHook(s.Start, s.Stop))
		return s, nil
	case 1:
		return p.Others[0], nil
	}
	return nil, errors.New("two modules provide SCRAM credentials; leave one out")
}
