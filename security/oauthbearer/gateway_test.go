package oauthbearer_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
)

// breaks counts the connections of a client that end.
type breaks struct{ atomic.Int32 }

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (b *breaks) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { b.Add(1) }

// A stock client logs in with tokens, and again before each of them expires, on the
// same connections. A wrong token gets Kafka's code.
func TestClient(t *testing.T) {
	t.Parallel()
	mine, other := newIssuer(t, "mine", jwt.SigningMethodES256), newIssuer(t, "mine", jwt.SigningMethodES256)
	path := file(t, set(mine))
	var addr string
	gatewaytest.Start(t,
		gatewaytest.Listener("logins", server.ListenerConfig{Protocol: "SASL_PLAINTEXT", Mechanisms: []string{"OAUTHBEARER"}}, &addr),
		gatewaytest.Config(func(c *app.Config) {
			c.SASL.OAuthBearer.JWKS = path
			c.SASL.OAuthBearer.AllowUnverifiedIssuer, c.SASL.OAuthBearer.AllowUnverifiedAudience = true, true
		}),
	)
	var given atomic.Int32
	client := func(from issuer, lasts time.Duration, opts ...kgo.Opt) *kgo.Client {
		auth := oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			given.Add(1)
			return oauth.Auth{
				Token:      from.token(t, jwt.MapClaims{"sub": "alice", "exp": time.Now().Add(lasts).Unix()}),
				Extensions: map[string]string{"traceId": "x"},
			}, nil
		})
		c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.SASL(auth), kgo.AllowAutoTopicCreation())...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	require.ErrorIs(t, client(other, time.Hour).Ping(t.Context()), kerr.SaslAuthenticationFailed)
	require.ErrorIs(t, client(mine, -time.Hour).Ping(t.Context()), kerr.SaslAuthenticationFailed)

	given.Store(0)
	ended := &breaks{}
	c := client(mine, 5*time.Second, kgo.WithHooks(ended))
	require.Eventually(t, func() bool {
		require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr())
		return given.Load() >= 5 // for two connections
	}, time.Minute, 50*time.Millisecond)
	require.Zero(t, ended.Load())
}

// A list with OAUTHBEARER needs its keys.
func TestStartNeedsKeys(t *testing.T) {
	t.Parallel()
	cfg := app.DefaultConfig()
	cfg.Server.Listen, cfg.Admin.Listen, cfg.Storage.Backend = "127.0.0.1:0", "", "memory"
	cfg.SASL.Logins.Mechanisms = []string{"PLAIN", "OAUTHBEARER"}
	err := fx.New(app.Options(cfg, zap.NewNop()), gateway.Plugins()).Err()
	require.ErrorContains(t, err, "sasl.mechanisms: OAUTHBEARER: it has no keys; set sasl.oauthbearer.jwks")
}
