package authorizer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// denial is an authorizer without ACLs.
type denial struct{}

func (denial) Authorize(context.Context, security.Requester, kmsg.ACLOperation, security.Resource) bool {
	return false
}

func (denial) AuthorizeAny(context.Context, security.Requester, kmsg.ACLOperation, kmsg.ACLResourceType) bool {
	return false
}

func candidate(name string, a security.Authorizer, err error) fx.Option {
	return fx.Provide(func() authorizer.Out {
		return authorizer.Out{Candidate: authorizer.Candidate{Name: name, Make: func() (security.Authorizer, error) { return a, err }}}
	})
}

// list is the authorizers of a gateway that is configured so.
func list(t testing.TB, log *zap.Logger, change func(*authorizer.Config), more ...fx.Option) fx.Option {
	cfg := authorizer.DefaultConfig()
	change(&cfg)
	store := embeddedtest.Open(t)
	return fx.Options(append(more, fx.NopLogger, fx.Supply(cfg, log), fx.Provide(func() backend.Backend { return store }),
		authorizer.Module, acls.Candidate)...)
}

type chosen struct {
	fx.In
	Authorizer security.Authorizer `optional:"true"`
	ACLs       security.ACLs       `optional:"true"`
}

func TestNone(t *testing.T) {
	t.Parallel()
	var got chosen
	fxtest.New(t, list(t, zap.NewNop(), func(*authorizer.Config) {}), fx.Invoke(func(c chosen) { got = c })).RequireStart().RequireStop()
	require.Nil(t, got.Authorizer)
	require.Nil(t, got.ACLs)
}

// The list of ACLs is chosen, and its authorizer conforms with super users in front.
func TestACLs(t *testing.T) {
	t.Parallel()
	securitytest.Authorizers(t, func(t *testing.T) securitytest.Authorizing {
		var got chosen
		app := fxtest.New(t, list(t, zap.NewNop(), func(c *authorizer.Config) {
			c.Authorizer, c.SuperUsers = "acls", []string{"User:admin", "Service:a:b"}
		}), fx.Invoke(func(c chosen) { got = c })).RequireStart()
		t.Cleanup(func() { app.RequireStop() })
		question := func(p security.Principal, topic string) securitytest.Question {
			return securitytest.Question{
				Who: security.Requester{Principal: p}, Operation: kmsg.ACLOperationWrite,
				On: security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic},
			}
		}
		for _, err := range got.ACLs.CreateACLs(t.Context(), []security.ACL{{
			Type: kmsg.ACLResourceTypeTopic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: "t", Principal: "User:a", Host: "*",
			Operation: kmsg.ACLOperationWrite, Permission: kmsg.ACLPermissionTypeAllow,
		}}) {
			require.NoError(t, err)
		}
		for _, p := range []security.Principal{security.User("admin"), {Type: "Service", Name: "a:b"}} {
			for _, topic := range []string{"t", "u"} {
				q := question(p, topic)
				require.True(t, got.Authorizer.Authorize(t.Context(), q.Who, q.Operation, q.On))
				require.True(t, got.Authorizer.AuthorizeAny(t.Context(), q.Who, q.Operation, q.On.Type))
			}
		}
		return securitytest.Authorizing{
			Authorizer: got.Authorizer,
			May:        []securitytest.Question{question(security.User("a"), "t")},
			MayAny:     []securitytest.Question{question(security.User("a"), "")},
			MayNot:     []securitytest.Question{question(security.User("a"), "u"), question(security.Principal{Type: "Service", Name: "admin"}, "t")},
		}
	})
}

// An authorizer of another module is one more candidate. One without ACLs has none.
func TestAFurtherCandidate(t *testing.T) {
	t.Parallel()
	named := func(name string) func(*authorizer.Config) {
		return func(c *authorizer.Config) { c.Authorizer, c.SuperUsers = name, []string{"User:admin"} }
	}
	start := func(change func(*authorizer.Config), more ...fx.Option) (got chosen, err error) {
		app := fx.New(list(t, zap.NewNop(), change, more...), fx.Invoke(func(c chosen) { got = c }))
		return got, app.Err()
	}
	mine := candidate("mine", denial{}, nil)
	got, err := start(named("mine"), mine)
	require.NoError(t, err)
	require.Nil(t, got.ACLs)
	ask := func(user string) bool {
		who := security.Requester{Principal: security.User(user)}
		one := got.Authorizer.Authorize(t.Context(), who, kmsg.ACLOperationRead, security.Cluster)
		require.Equal(t, one, got.Authorizer.AuthorizeAny(t.Context(), who, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic))
		return one
	}
	require.True(t, ask("admin"))
	require.False(t, ask("a"))

	_, err = start(named("theirs"), mine)
	require.ErrorContains(t, err, `authorization.authorizer: "theirs" is none of acls, mine, none`)
	_, err = start(named("acls"), candidate("acls", denial{}, nil))
	require.ErrorContains(t, err, `authorization.authorizer: two authorizers have the name "acls"`)
	_, err = start(named("mine"), candidate("mine", nil, nil))
	require.ErrorContains(t, err, `authorization.authorizer: mine: nothing was made`)
	_, err = start(named("mine"), candidate("mine", nil, errors.New("no")))
	require.ErrorContains(t, err, `authorization.authorizer: mine: no`)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, authorizer.DefaultConfig().Validate())
	c := authorizer.DefaultConfig()
	c.SuperUsers = []string{"User:CN=admin,O=a:b"}
	require.NoError(t, c.Validate())
	require.EqualError(t, authorizer.Config{SuperUsers: []string{"admin", "User:a", "User:"}, CacheTime: time.Minute, StaleTime: time.Second}.Validate(),
		"authorization.super_users: \"admin\" is no principal: write User:name\n"+
			"authorization.super_users: \"User:\" is no principal: write User:name\n"+
			"authorization.stale_time: 1s is out of range; set it to between authorization.cache_time, 1m0s, and 24h0m0s")
	c.SuperUsers = []string{"User:a;User:b"}
	require.EqualError(t, c.Validate(), `authorization.super_users: "User:a;User:b" are several: write a list, as ["User:a", "User:b"], or put commas between them`)
	require.EqualError(t, authorizer.Config{StaleTime: time.Minute}.Validate(),
		"authorization.cache_time: 0s is out of range; set 1s to 1h0m0s")
}

// Who locks everybody out is told so, once.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*authorizer.Config)
		warns  int
	}{
		"nobody":       {func(*authorizer.Config) {}, 1},
		"a super user": {func(c *authorizer.Config) { c.SuperUsers = []string{"User:admin"} }, 0},
		"everybody":    {func(c *authorizer.Config) { c.AllowIfNoACL = true }, 0},
	} {
		core, logs := observer.New(zap.WarnLevel)
		fxtest.New(t, list(t, zap.New(core), func(cfg *authorizer.Config) {
			cfg.Authorizer = "acls"
			c.change(cfg)
		}), fx.Invoke(func(chosen) {})).RequireStart().RequireStop()
		require.Equal(t, c.warns, logs.FilterMessageSnippet("authorization.super_users").Len(), name)
	}
}
