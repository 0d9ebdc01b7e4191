package iggypermissions

import (
	"context"
	"errors"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/authorizer"
)

// Name is what authorization.authorizer calls this authorizer.
const Name = "iggy"

// Candidate adds the authorizer "iggy" to those that the configuration may name. It
// needs an Iggy server as the backend, and asks at the start whether it may ask for
// users there.
var Candidate = fx.Module("iggypermissions", fx.Provide(provide))

type params struct {
	fx.In
	Config    authorizer.Config
	Log       *zap.Logger
	Lifecycle fx.Lifecycle
	Store     *iggy.Store `optional:"true"`
}

func provide(p params) authorizer.Out {
	return authorizer.Out{Candidate: authorizer.Candidate{Name: Name, Make: func() (security.Authorizer, error) {
		if p.Store == nil {
			return nil, errors.New("there is no Iggy server; set storage.backend to iggy, or choose another authorizer")
		}
		a := New(p.Store, Config{CacheTime: p.Config.CacheTime, StaleTime: p.Config.StaleTime, MaxACLs: p.Config.MaxACLs}, p.Log.Named("authorization"))
		p.Lifecycle.Append(fx.Hook{
			OnStart: func(ctx context.Context) error { return a.Check(ctx) },
			OnStop:  func(context.Context) error { a.Close(); return nil },
		})
		return a, nil
	}}}
}
