package metrics_test

import (
	"crypto/tls"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// guarded starts a gateway that has refused a login, an operation and a connection,
// and throttled a client, and returns the address of its admin listener.
func guarded(t *testing.T) (url string) {
	t.Helper()
	var secure, narrow string
	ca := ssltest.NewAuthority(t)
	own := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	open := gatewaytest.Start(t, gatewaytest.Admin(&url), gatewaytest.ACLs(),
		gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_SSL"}, &secure),
		gatewaytest.Listener("narrow", server.ListenerConfig{MaxConnections: 1}, &narrow),
		gatewaytest.Config(func(c *app.Config) {
			c.TLS.Certificate, c.TLS.Key = own.Certificate, own.Key
			c.Quotas.ProducerByteRate = 100
		}))
	client := func(opts ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append(opts, kgo.AllowAutoTopicCreation())...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	operator := client(kgo.SeedBrokers(open), kgo.ProducerBatchCompression(kgo.NoCompression()))
	altered, err := kadm.NewClient(operator).AlterUserSCRAMs(t.Context(), nil,
		[]kadm.UpsertSCRAM{{User: "alice", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"}})
	require.NoError(t, err)
	require.NoError(t, altered.Error())
	alice := func(password string) *kgo.Client {
		return client(kgo.SeedBrokers(secure), kgo.DialTLSConfig(&tls.Config{RootCAs: ca.Pool()}), kgo.SASL(scram.Auth{User: "alice", Pass: password}.AsSha256Mechanism()))
	}
	require.ErrorIs(t, alice("wrong").Ping(t.Context()), kerr.SaslAuthenticationFailed)
	_, err = kadm.NewClient(alice("secret")).CreateTopic(t.Context(), 1, 1, nil, "orders")
	require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)

	require.NoError(t, operator.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: make([]byte, 2000)}).FirstErr())

	held := client(kgo.SeedBrokers(narrow))
	require.NoError(t, held.Ping(t.Context()))
	refused, err := net.Dial("tcp", narrow)
	if err == nil { // else the reset came before the system told of the connection
		defer refused.Close()
		require.NoError(t, refused.SetDeadline(time.Now().Add(time.Minute)))
		_, err = refused.Read(make([]byte, 1))
	}
	require.Error(t, err) // the end, or a reset
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	return url
}
