package acls

import (
	"context"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/authorizer"
)

// Candidate adds the authorizer "acls" to those that the configuration may name. It
// loads its list from the backend at the start.
var Candidate = fx.Module("acls", fx.Provide(func(c authorizer.Config, b backend.Backend, log *zap.Logger, life fx.Lifecycle) authorizer.Out {
	return authorizer.Out{Candidate: authorizer.Candidate{Name: "acls", Make: func() (security.Authorizer, error) {
		list := New(b, Config{AllowIfNone: c.AllowIfNoACL, Max: c.MaxACLs})
		life.Append(fx.StartStopHook(func(ctx context.Context) error {
			if err := list.Load(ctx); err != nil {
				return err
			}
			if list.Len() == 0 && len(c.SuperUsers) == 0 && !c.AllowIfNoACL {
				log.Named("authorization").Warn("nobody may do anything: there are no ACLs, and no super user who could create some; " +
					"name one in authorization.super_users")
			}
			return nil
		}, list.Close))
		return list, nil
	}}}
}))
