package gatewaytest

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/authorizer"
)

// Authorizer has a decide what clients may do.
func Authorizer(a security.Authorizer) fx.Option {
	const name = "gatewaytest"
	candidate := authorizer.Candidate{Name: name, Make: func() (security.Authorizer, error) { return a, nil }}
	return newOption(func(s *setup) {
		s.config.Authorization.Authorizer = name
		s.modules = append(s.modules, fx.Provide(func() authorizer.Out { return authorizer.Out{Candidate: candidate} }))
	})
}

// ACLs has access control lists decide what clients may do. Who has not logged in may
// do everything, as the administrator who makes the lists.
func ACLs() fx.Option {
	return Config(func(c *app.Config) {
		c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", []string{security.Anonymous.String()}
	})
}
