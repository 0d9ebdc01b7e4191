package acls_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
)

// lifetime is a gateway from its start to its end: its addresses for the administrator,
// who need not log in, and for users.
func lifetime(t *testing.T, dir string) (admin *kadm.Client, users string) {
	plain := gatewaytest.Start(t, gatewaytest.ACLs(), gatewaytest.Config(func(c *app.Config) {
		c.Storage.Backend, c.Storage.Dir = "embedded", dir
	}), gatewaytest.Listener("users", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &users))
	cl, err := kgo.NewClient(kgo.SeedBrokers(plain))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl), users
}

func alice(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	login := scram.Auth{User: "alice", Pass: "secret"}.AsSha256Mechanism()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.SASL(login), kgo.DefaultProduceTopic("orders"))...)
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}

func allow(t *testing.T, admin *kadm.Client, b *kadm.ACLBuilder) {
	t.Helper()
	created, err := admin.CreateACLs(t.Context(), b)
	require.NoError(t, err)
	require.NotEmpty(t, created)
	for _, c := range created {
		require.NoError(t, c.Err)
	}
}

// A user may do what ACLs allow from the moment that they are created, until they are
// deleted or denied, and after a restart.
func TestGateway(t *testing.T) {
	dir := t.TempDir()
	produce := func(t *testing.T, cl *kgo.Client, topic string) error {
		return cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
	}
	t.Run("first", func(t *testing.T) {
		admin, users := lifetime(t, dir)
		_, err := admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{
			User: "alice", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret",
		}})
		require.NoError(t, err)
		_, err = admin.CreateTopics(t.Context(), 1, 1, nil, "orders", "other")
		require.NoError(t, err)

		cl := alice(t, users)
		require.ErrorIs(t, produce(t, cl, "orders"), kerr.TopicAuthorizationFailed)
		allow(t, admin, kadm.NewACLs().Topics("ord").ResourcePatternType(kadm.ACLPatternPrefixed).
			Allow("User:alice").AllowHosts("127.0.0.0/8").Operations(kadm.OpWrite))
		require.NoError(t, produce(t, alice(t, users), "orders"))
		require.ErrorIs(t, produce(t, alice(t, users), "other"), kerr.TopicAuthorizationFailed)

		topics, err := kadm.NewClient(alice(t, users)).ListTopics(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"orders"}, topics.Names(), "WRITE lets her see it, and nothing else")

		allow(t, admin, kadm.NewACLs().Topics("orders").Groups("billing").ResourcePatternType(kadm.ACLPatternLiteral).
			Allow("User:alice").Operations(kadm.OpRead))
		consumer := alice(t, users, kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("billing"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		fetched := consumer.PollRecords(t.Context(), 1)
		require.NoError(t, fetched.Err())
		require.Equal(t, 1, fetched.NumRecords())

		writer := alice(t, users)
		require.NoError(t, produce(t, writer, "orders"))
		allow(t, admin, kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternLiteral).
			Deny("User:*").Operations(kadm.OpWrite))
		require.ErrorIs(t, produce(t, writer, "orders"), kerr.TopicAuthorizationFailed, "a connection that is open is denied, too")
		deleted, err := admin.DeleteACLs(t.Context(), kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternLiteral).
			Deny("User:*").DenyHosts().Operations(kadm.OpWrite))
		require.NoError(t, err)
		require.Len(t, deleted, 1)
		require.Len(t, deleted[0].Deleted, 1)
	})
	t.Run("after a restart", func(t *testing.T) {
		admin, users := lifetime(t, dir)
		require.NoError(t, produce(t, alice(t, users), "orders"))
		require.ErrorIs(t, produce(t, alice(t, users), "other"), kerr.TopicAuthorizationFailed)
		found, err := admin.DescribeACLs(t.Context(), kadm.NewACLs().AnyResource().ResourcePatternType(kadm.ACLPatternAny).
			Allow().AllowHosts().Deny().DenyHosts().Operations(kadm.OpAny))
		require.NoError(t, err)
		n := 0
		for _, f := range found {
			n += len(f.Described)
		}
		require.Equal(t, 3, n)
	})
}
