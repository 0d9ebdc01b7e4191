package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

// TestManage makes a user with kafka-configs and says with kafka-acls what he may do, over SASL_SSL. He sees each change
// at once, on a connection that he has had before.
func TestManage(t *testing.T) {
	t.Parallel()
	server := secured.Start(t, 0)
	for _, version := range versions()[:2] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			alice := startSecured(t, server, version).with(t, server.Login(t, secured.Scram512, secured.Alice))
			bob := server.Login(t, secured.Scram256, "bob-"+version)
			manage(t, alice, bob)
		})
	}
}

func manage(t *testing.T, alice *securedTools, bob secured.Login) {
	topic := clienttest.Unique(t, "orders")
	principal := "User:" + bob.User
	users := func(args ...string) string {
		return alice.ok("", alice.on(append([]string{"kafka-configs", "--entity-type", "users", "--entity-name", bob.User}, args...)...)...)
	}
	acls := func(args ...string) string {
		return alice.ok("", alice.on(append([]string{"kafka-acls", "--topic", topic}, args...)...)...)
	}
	alice.ok("", alice.on("kafka-topics", "--create", "--topic", topic)...)

	require.ErrorIs(t, connect(t, bob).Ping(t.Context()), kerr.SaslAuthenticationFailed, "nobody has made him")
	users("--alter", "--add-config", "SCRAM-SHA-256=[iterations=4096,password="+bob.Password+"]")
	require.Contains(t, users("--describe"), "SCRAM-SHA-256=iterations=4096")
	// Kafka takes one change of a user at a time, whatever its documentation shows.
	both := alice.run("", alice.on("kafka-configs", "--entity-type", "users", "--entity-name", bob.User, "--alter",
		"--add-config", "SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]")...)
	require.NotZero(t, both.code)
	require.Contains(t, both.stdout+both.stderr, "A user credential cannot be altered twice in the same request")
	eventually(t, "he can log in", func() error { return connect(t, bob).Ping(t.Context()) }, nil)

	client := connect(t, bob, kgo.DefaultProduceTopic(topic), kgo.DisableIdempotentWrite())
	produce := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return client.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr()
	}
	require.ErrorIs(t, produce(), kerr.TopicAuthorizationFailed)
	acls("--add", "--allow-principal", principal, "--producer")
	eventually(t, "he may write", produce, nil)
	acls("--add", "--deny-principal", principal, "--operation", "Write")
	eventually(t, "he must not write", produce, kerr.TopicAuthorizationFailed)
	require.Contains(t, acls("--list"), "permissionType=DENY")
	acls("--remove", "--deny-principal", principal, "--operation", "Write", "--force")
	eventually(t, "he may write again", produce, nil)
	acls("--remove", "--force")
	eventually(t, "he must not write any more", produce, kerr.TopicAuthorizationFailed)

	users("--alter", "--delete-config", "SCRAM-SHA-256")
	eventually(t, "he cannot log in any more", func() error { return connect(t, bob).Ping(t.Context()) }, kerr.SaslAuthenticationFailed)
}

// eventually demands an outcome at once of a gateway. A broker's controller answers before all brokers know.
func eventually(t *testing.T, what string, do func() error, want error) {
	t.Helper()
	if !secured.Kafka() {
		require.ErrorIs(t, do(), want, what)
		return
	}
	clienttest.Await(t, what, func() bool { return errors.Is(do(), want) })
}

// connect returns a client that tries once.
func connect(t *testing.T, l secured.Login, opts ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(l.Address), kgo.DialTLSConfig(l.TLS(t)), kgo.RequestRetries(0),
		kgo.MetadataMinAge(10*time.Millisecond), kgo.SASL(scram.Auth{User: l.User, Pass: l.Password}.AsSha256Mechanism()))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}
