package iggypermissions_test

import (
	"context"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/iggypermissions"
)

// patience bounds what a loaded machine may take.
const patience = time.Minute

// box is a gateway whose clients are users of the Iggy server.
type box struct {
	*testing.T
	server iggytest.Server
	addr   string
	root   iggcon.Client
}

// gateways runs a test with a gateway over the stand-in and one over the real server.
func gateways(t *testing.T, test func(*box)) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		b := &box{T: t, server: start(t, iggytest.NoFsync())}
		b.root = iggypermissions.SDK(t, b.server.Address(), iggytest.Username, iggytest.Password)
		gatewaytest.Start(t, gatewaytest.Iggy(b.server.Address(), "kafka"),
			gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &b.addr),
			gatewaytest.Config(func(c *app.Config) {
				c.Authorization.Authorizer, c.Authorization.CacheTime = iggypermissions.Name, time.Second
				c.SASL.Iggy.CacheTime, c.SASL.Iggy.LoginRate, c.SASL.Iggy.Timeout = time.Second, 100, 10*time.Second
				c.SASL.Logins.FailureDelay = 0
			}))
		test(b)
	})
}

func (b *box) user(name string, p *iggcon.Permissions) {
	b.Helper()
	_, err := b.root.CreateUser(name, "secret-"+name, iggcon.Active, p)
	require.NoError(b, err)
}

// as returns a client that is logged in as a user, with its password.
func (b *box) as(name string, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.addr), kgo.SASL(plain.Auth{User: name, Pass: "secret-" + name}.AsMechanism()))...)
	require.NoError(b, err)
	b.Cleanup(c.Close)
	return c
}

func (b *box) admin(name string) *kadm.Client {
	b.Helper()
	return kadm.NewClient(b.as(name))
}

func (b *box) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	b.Cleanup(cancel)
	return ctx
}

// Users do with Kafka clients what their permissions say, and are told Kafka's codes
// where they say nothing.
func TestGateway(t *testing.T) {
	gateways(t, func(b *box) {
		ctx := b.ctx()
		b.user("maker", &iggcon.Permissions{Global: iggcon.GlobalPermissions{ManageTopics: true}})
		maker := b.admin("maker")
		for _, name := range []string{"open", "closed"} {
			_, err := maker.CreateTopic(ctx, 1, 1, nil, name)
			require.NoError(b, err)
		}
		stream, err := b.root.GetStream(iggypermissions.ID(b.T, "kafka"))
		require.NoError(b, err)
		open, err := b.root.GetTopic(iggypermissions.ID(b.T, "kafka"), iggypermissions.ID(b.T, "open"))
		require.NoError(b, err)
		on := func(p iggcon.TopicPermissions) *iggcon.Permissions {
			return &iggcon.Permissions{Streams: map[int]*iggcon.StreamPermissions{
				int(stream.Id): {Topics: map[int]*iggcon.TopicPermissions{int(open.Id): &p}},
			}}
		}
		b.user("sender", on(iggcon.TopicPermissions{SendMessages: true}))
		b.user("poller", on(iggcon.TopicPermissions{PollMessages: true}))
		b.user("nobody", nil)

		send := func(user, topic string) error {
			// An idempotent producer is told another code: it asks for an id first.
			return b.as(user, kgo.DisableIdempotentWrite()).ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(user)}).FirstErr()
		}
		require.NoError(b, send("maker", "closed"))
		require.NoError(b, send("sender", "open"))
		require.ErrorIs(b, send("sender", "closed"), kerr.TopicAuthorizationFailed)
		require.ErrorIs(b, send("poller", "open"), kerr.TopicAuthorizationFailed)
		require.ErrorIs(b, send("nobody", "open"), kerr.TopicAuthorizationFailed)

		topics := func(user string) []string {
			listed, err := b.admin(user).ListTopics(ctx)
			require.NoError(b, err)
			return listed.Names()
		}
		require.Equal(b, []string{"closed", "open"}, topics("maker"))
		require.Equal(b, []string{"open"}, topics("sender"))
		require.Equal(b, []string{"open"}, topics("poller"))
		require.Empty(b, topics("nobody"))

		consumer := b.as("poller", kgo.ConsumeTopics("open"), kgo.ConsumerGroup("g"))
		fetched := consumer.PollFetches(ctx)
		require.NoError(b, fetched.Err())
		require.Equal(b, "sender", string(fetched.Records()[0].Value))
		require.NoError(b, consumer.CommitUncommittedOffsets(ctx))
		_, err = b.admin("poller").CreateTopic(ctx, 1, 1, nil, "mine")
		require.ErrorIs(b, err, kerr.TopicAuthorizationFailed)
		_, err = b.admin("nobody").DescribeGroups(ctx, "g")
		require.ErrorContains(b, err, "GROUP_AUTHORIZATION_FAILED")
		_, err = b.admin("poller").DescribeAllLogDirs(ctx, nil)
		require.ErrorContains(b, err, "CLUSTER_AUTHORIZATION_FAILED")

		// What is given and taken counts while connections are open.
		nobody := b.as("nobody", kgo.DisableIdempotentWrite())
		try := func() error {
			return nobody.ProduceSync(ctx, &kgo.Record{Topic: "closed", Value: []byte("x")}).FirstErr()
		}
		require.ErrorIs(b, try(), kerr.TopicAuthorizationFailed)
		require.NoError(b, b.root.UpdatePermissions(iggypermissions.ID(b.T, "nobody"), &iggcon.Permissions{Global: iggcon.GlobalPermissions{SendMessages: true}}))
		require.Eventually(b, func() bool { return try() == nil }, patience, 100*time.Millisecond)
		require.NoError(b, b.root.DeleteUser(iggypermissions.ID(b.T, "nobody")))
		require.Eventually(b, func() bool { return try() != nil }, patience, 100*time.Millisecond)
	})
}

// Permissions are listed as ACLs, which cannot be changed, and only for who may look.
func TestACLsOverTheGateway(t *testing.T) {
	gateways(t, func(b *box) {
		ctx := b.ctx()
		b.user("operator", &iggcon.Permissions{Global: iggcon.GlobalPermissions{ManageServers: true, ManageUsers: true}})
		b.user("poller", &iggcon.Permissions{Global: iggcon.GlobalPermissions{PollMessages: true}})
		filter := func() *kadm.ACLBuilder {
			return kadm.NewACLs().Topics("orders").Allow("User:poller").AllowHosts("*").Operations(kadm.OpRead)
		}
		found, err := b.admin("operator").DescribeACLs(ctx, filter().ResourcePatternType(kmsg.ACLResourcePatternTypeMatch))
		require.NoError(b, err)
		require.Len(b, found[0].Described, 1)
		require.Equal(b, "*", found[0].Described[0].Name)
		made, err := b.admin("operator").CreateACLs(ctx, filter())
		require.NoError(b, err)
		require.ErrorIs(b, made[0].Err, kerr.InvalidRequest)
		require.Contains(b, made[0].ErrMessage, "by its own tools")
		deleted, err := b.admin("operator").DeleteACLs(ctx, filter())
		require.NoError(b, err)
		require.ErrorIs(b, deleted[0].Err, kerr.InvalidRequest)
		found, err = b.admin("poller").DescribeACLs(ctx, filter())
		require.NoError(b, err)
		require.ErrorIs(b, found[0].Err, kerr.ClusterAuthorizationFailed)
	})
}

// A user of Kafka's own and one of a certificate are Iggy's user of that name, or
// nobody: here by SCRAM.
func TestOtherLogins(t *testing.T) {
	gateways(t, func(b *box) {
		ctx := b.ctx()
		b.user("alice", &iggcon.Permissions{Global: iggcon.GlobalPermissions{SendMessages: true}})
		b.user("operator", &iggcon.Permissions{Global: iggcon.GlobalPermissions{ManageServers: true, ManageUsers: true, ManageTopics: true}})
		operator := b.admin("operator")
		_, err := operator.CreateTopic(ctx, 1, 1, nil, "t")
		require.NoError(b, err)
		for _, user := range []string{"alice", "mallory"} {
			altered, err := operator.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "scram-" + user}})
			require.NoError(b, err)
			require.NoError(b, altered.Error())
		}
		send := func(user string) error {
			c, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.DisableIdempotentWrite(),
				kgo.SASL(scram.Auth{User: user, Pass: "scram-" + user}.AsSha256Mechanism()))
			require.NoError(b, err)
			defer c.Close()
			return c.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte(user)}).FirstErr()
		}
		require.NoError(b, send("alice"))
		require.ErrorIs(b, send("mallory"), kerr.TopicAuthorizationFailed)
	})
}
