package scram_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	kafkascram "github.com/segmentio/kafka-go/sasl/scram"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	franzscram "github.com/twmb/franz-go/pkg/sasl/scram"
	xdg "github.com/xdg-go/scram"
	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
)

// patience bounds what a loaded machine may take.
const patience = time.Minute

// box is a gateway: a listener without logins for the administrator, and one with.
type box struct {
	*testing.T
	ctx    context.Context
	secure string
	admin  *kadm.Client
	users  security.ScramCredentials
	logs   *observer.ObservedLogs
	page   string // of the admin listener
}

func start(t *testing.T, opts ...fx.Option) *box {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	core, logs := observer.New(zapcore.DebugLevel)
	b := &box{T: t, ctx: ctx, logs: logs}
	plain := gatewaytest.Start(t, append(opts,
		gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &b.secure),
		gatewaytest.Admin(&b.page),
		gatewaytest.Config(func(c *app.Config) { c.SASL.Logins.FailureDelay = 0 }),
		fx.Decorate(func(*zap.Logger) *zap.Logger { return zap.New(core) }),
		fx.Invoke(func(u security.ScramCredentials) { b.users = u }),
	)...)
	client, err := kgo.NewClient(kgo.SeedBrokers(plain))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b.admin = kadm.NewClient(client)
	return b
}

// each runs a test over both stores.
func each(t *testing.T, test func(*box)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(start(t))
	})
	t.Run("iggy", func(t *testing.T) {
		t.Parallel()
		test(start(t, gatewaytest.Iggy(iggytest.StandIn(t).Address(), "scram")))
	})
}

func (b *box) set(user string, mechanism kadm.ScramMechanism, password string) {
	b.Helper()
	altered, err := b.admin.AlterUserSCRAMs(b.ctx, nil, []kadm.UpsertSCRAM{
		{User: user, Mechanism: mechanism, Iterations: 4096, Password: password},
	})
	require.NoError(b, err)
	require.NoError(b, altered.Error())
}

func (b *box) drop(user string, mechanism kadm.ScramMechanism) {
	b.Helper()
	altered, err := b.admin.AlterUserSCRAMs(b.ctx, []kadm.DeleteSCRAM{{User: user, Mechanism: mechanism}}, nil)
	require.NoError(b, err)
	require.NoError(b, altered.Error())
}

// franz returns a client that logs in with the mechanism. It tries once.
func (b *box) franz(user, password string, mechanism kadm.ScramMechanism) *kgo.Client {
	b.Helper()
	auth := franzscram.Auth{User: user, Pass: password}
	login := auth.AsSha256Mechanism()
	if mechanism == kadm.ScramSha512 {
		login = auth.AsSha512Mechanism()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.secure), kgo.SASL(login), kgo.RequestRetries(0),
		kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	require.NoError(b, err)
	b.Cleanup(client.Close)
	return client
}

func (b *box) wrong(user, password string, mechanism kadm.ScramMechanism) {
	b.Helper()
	require.ErrorIs(b, b.franz(user, password, mechanism).Ping(b.ctx), kerr.SaslAuthenticationFailed)
}

var bothMechanisms = []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512}

// A password is good until it is changed. Connections that were made with it live on.
func TestLifeOfAPassword(t *testing.T) {
	t.Parallel()
	each(t, func(b *box) {
		for _, m := range bothMechanisms {
			b.wrong("alice", "first", m)
			b.set("alice", m, "first")
			b.wrong("alice", "second", m)
			old := b.franz("alice", "first", m)
			require.NoError(b, old.ProduceSync(b.ctx, kgo.StringRecord("x")).FirstErr())

			b.set("alice", m, "second")
			b.wrong("alice", "first", m)
			require.NoError(b, b.franz("alice", "second", m).Ping(b.ctx))
			require.NoError(b, old.ProduceSync(b.ctx, kgo.StringRecord("y")).FirstErr())

			b.drop("alice", m)
			b.wrong("alice", "second", m)
			require.NoError(b, old.ProduceSync(b.ctx, kgo.StringRecord("z")).FirstErr())
		}
	})
}

// One mechanism's password is not the other's.
func TestMechanismsAreApart(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.set("alice", kadm.ScramSha256, "secret")
	b.wrong("alice", "secret", kadm.ScramSha512)
	require.NoError(t, b.franz("alice", "secret", kadm.ScramSha256).Ping(b.ctx))
}

// conversation is Sarama's client of xdg-go/scram.
type conversation struct {
	hash xdg.HashGeneratorFcn
	*xdg.ClientConversation
}

func (c *conversation) Begin(user, password, authz string) error {
	client, err := c.hash.NewClient(user, password, authz)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}

// loginSarama makes a connection, with bare tokens (version 0) or with
// SaslAuthenticate (version 1).
func loginSarama(addr, user, password string, mechanism int8, version int16) error {
	c := sarama.NewConfig()
	c.Metadata.Retry.Max, c.ApiVersionsRequest = 0, version > 0
	c.Net.SASL.Enable, c.Net.SASL.User, c.Net.SASL.Password = true, user, password
	c.Net.SASL.Version, c.Net.SASL.Mechanism = version, sarama.SASLMechanism(security.ScramName(mechanism))
	c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
		return &conversation{hash: xdg.HashGeneratorFcn(security.ScramHash(mechanism))}
	}
	client, err := sarama.NewClient([]string{addr}, c)
	if err == nil {
		err = client.Close()
	}
	return err
}

func loginKafkaGo(ctx context.Context, addr, user, password string, mechanism int8) error {
	algorithm := kafkascram.SHA256
	if mechanism == security.ScramSHA512 {
		algorithm = kafkascram.SHA512
	}
	m, err := kafkascram.Mechanism(algorithm, user, password)
	if err != nil {
		return err
	}
	conn, err := (&kafka.Dialer{Timeout: patience, SASLMechanism: m}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Brokers()
	return err
}

func TestOtherClients(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, m := range bothMechanisms {
		for _, user := range []string{"alice", "a,b=c"} {
			b.set(user, m, "secret")
			for version := int16(0); version <= 1; version++ {
				require.NoError(t, loginSarama(b.secure, user, "secret", int8(m), version), "Sarama %d", version)
				require.Error(t, loginSarama(b.secure, user, "wrong", int8(m), version), "Sarama %d", version)
			}
			require.NoError(t, loginKafkaGo(b.ctx, b.secure, user, "secret", int8(m)))
			require.Error(t, loginKafkaGo(b.ctx, b.secure, user, "wrong", int8(m)))
		}
	}
}

// Whatever the gateway writes for its operators, there are no secrets in it.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.set("alice", kadm.ScramSha256, "Tr0ub4dor")
	b.set("alice", kadm.ScramSha512, "Tr0ub4dor")
	for _, m := range bothMechanisms {
		require.NoError(t, b.franz("alice", "Tr0ub4dor", m).Ping(b.ctx))
		b.wrong("alice", "correct-horse", m)
		b.wrong("nobody", "Tr0ub4dor", m)
	}
	described, err := b.admin.DescribeUserSCRAMs(b.ctx)
	require.NoError(t, err)

	texts := map[string]string{"DescribeUserScramCredentials": fmt.Sprint(described), "metrics": b.get("/metrics")}
	for i, line := range b.logs.All() {
		texts[fmt.Sprint("log ", i)] = fmt.Sprint(line.Message, line.ContextMap())
	}
	secrets := []string{"Tr0ub4dor", "correct-horse"}
	for _, m := range security.ScramMechanisms {
		c, ok := b.users.ScramCredential("alice", m)
		require.True(t, ok)
		for _, secret := range [][]byte{c.StoredKey, c.ServerKey, c.Salt} {
			secrets = append(secrets, string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), fmt.Sprint(secret))
		}
		texts[fmt.Sprint("printed ", m)] = fmt.Sprintf("%v %+v %#v %s", c, c, c, c)
	}
	for where, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is shown by %s", where)
			}
		}
	}
}

func (b *box) get(path string) string {
	b.Helper()
	resp, err := http.Get(b.page + path)
	require.NoError(b, err)
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	return string(text)
}

// A user that clients made is there after a restart, on whichever store.
func TestAfterARestart(t *testing.T) {
	t.Parallel()
	iggy := iggytest.StandIn(t)
	dir := t.TempDir()
	for name, opt := range map[string]fx.Option{
		"embedded": gatewaytest.Config(func(c *app.Config) { c.Storage.Backend, c.Storage.Dir = "embedded", dir }),
		"iggy":     gatewaytest.Iggy(iggy.Address(), "restart"),
	} {
		t.Run(name+" before", func(t *testing.T) { start(t, opt).set("alice", kadm.ScramSha512, "secret") })
		t.Run(name+" after", func(t *testing.T) {
			b := start(t, opt)
			require.NoError(t, b.franz("alice", "secret", kadm.ScramSha512).Ping(b.ctx))
			users, err := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest().RequestWith(b.ctx, b.franz("alice", "secret", kadm.ScramSha512))
			require.NoError(t, err)
			require.Len(t, users.Results, 1)
			require.Equal(t, "alice", users.Results[0].User)
		})
	}
}
