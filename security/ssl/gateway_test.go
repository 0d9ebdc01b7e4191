package ssl_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// In a whole gateway a certificate is a principal: what a mapping rule makes of it
// is whom ACLs are about. The certificate of the gateway is replaced meanwhile.
func TestCertificatesAreUsers(t *testing.T) {
	t.Parallel()
	ca, folder := ssltest.NewAuthority(t), t.TempDir()
	files := ca.Issue(t, ssltest.Server()).Write(t, folder)
	authority := ca.Write(t, folder)
	var addr string
	open := gatewaytest.Start(t,
		gatewaytest.Listener("mutual", server.ListenerConfig{Protocol: "SSL", ClientAuth: "required"}, &addr),
		gatewaytest.Config(func(c *app.Config) {
			c.TLS.Certificate, c.TLS.Key, c.TLS.ClientCA = files.Certificate, files.Key, authority
			c.TLS.PrincipalMappingRules = "RULE:CN=(.*)/$1/L"
			c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", []string{"User:ANONYMOUS", "User:alice"}
		}))
	client := func(at string, config *tls.Config) *kgo.Client {
		opts := []kgo.Opt{kgo.SeedBrokers(at), kgo.AllowAutoTopicCreation()}
		if config != nil {
			opts = append(opts, kgo.DialTLSConfig(config))
		}
		c, err := kgo.NewClient(opts...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	as := func(name string) *tls.Config {
		return &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, ssltest.Client(name)).Pair(t)}}
	}
	_, err := kadm.NewClient(client(open, nil)).CreateTopic(t.Context(), 1, 1, nil, "t")
	require.NoError(t, err)
	record := &kgo.Record{Topic: "t", Value: []byte("v")}
	alice := client(addr, as("Alice"))
	require.NoError(t, alice.ProduceSync(t.Context(), record).FirstErr())
	require.ErrorIs(t, client(addr, as("Mallory")).ProduceSync(t.Context(), record).FirstErr(), kerr.TopicAuthorizationFailed)

	next := ca.Issue(t, ssltest.Server())
	next.Write(t, folder)
	serial := next.Pair(t).Leaf.SerialNumber
	require.Eventually(t, func() bool {
		nc, err := tls.Dial("tcp", addr, as("bob"))
		require.NoError(t, err)
		defer nc.Close()
		return nc.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(serial) == 0
	}, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, alice.ProduceSync(t.Context(), record).FirstErr())
}
