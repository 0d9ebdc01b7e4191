package iggyusers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	kplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/server"
)

const (
	patience = time.Minute
	tick     = 50 * time.Millisecond
)

// box is a gateway over an Iggy server, whose users log in.
type box struct {
	*testing.T
	server iggytest.Server
	addr   string
	root   iggcon.Client
	logs   *observer.ObservedLogs
}

// gateways runs a test over the stand-in and over the real server.
func gateways(t *testing.T, change func(*app.Config), test func(*box)) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		core, logs := observer.New(zapcore.DebugLevel)
		b := &box{T: t, server: start(t, iggytest.NoFsync()), logs: logs}
		b.root = b.sdk()
		gatewaytest.Start(t, gatewaytest.Iggy(b.server.Address(), "kafka"),
			gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &b.addr),
			fx.Decorate(func(*zap.Logger) *zap.Logger { return zap.New(core) }),
			gatewaytest.Config(func(c *app.Config) {
				c.SASL.Logins.FailureDelay = 0
				c.SASL.Iggy.CacheTime = time.Second
				if change != nil {
					change(c)
				}
			}))
		test(b)
	})
}

// sdk returns a client of the server that is logged in as the root user.
func (b *box) sdk() iggcon.Client {
	b.Helper()
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(b.server.Address()))
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	_, err = c.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(b, err)
	return c
}

func (b *box) id(name string) iggcon.Identifier {
	b.Helper()
	id, err := iggcon.NewIdentifier(name)
	require.NoError(b, err)
	return id
}

// login returns what a new client is told that logs in.
func (b *box) login(user, password string) error {
	b.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.SASL(kplain.Auth{User: user, Pass: password}.AsMechanism()), kgo.RequestRetries(0))
	require.NoError(b, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	_, err = c.Request(ctx, kmsg.NewPtrApiVersionsRequest()) // which asks no backend
	return err
}

// refused reports whether the client is told that its password is wrong.
func (b *box) refused(user, password string) {
	b.Helper()
	require.ErrorIs(b, b.login(user, password), kerr.SaslAuthenticationFailed)
}

// Iggy's users log in with their passwords there, and what becomes of them counts
// within the time that passwords are remembered.
func TestUsersLogIn(t *testing.T) {
	gateways(t, nil, func(b *box) {
		b.refused("alice", "secret")
		_, err := b.root.CreateUser("alice", "secret", iggcon.Active, nil)
		require.NoError(b, err)
		require.NoError(b, b.login("alice", "secret"))
		require.NoError(b, b.login("alice", "secret"))
		require.NoError(b, b.login(iggytest.Username, iggytest.Password))
		b.refused("alice", "Secret")
		b.refused("al", "secret")
		b.refused("alice", "s")
		b.refused(string(make([]byte, 300)), "secret")
		b.refused("001", "secret") // which Iggy takes for alice
		b.refused("+01", "secret")

		require.NoError(b, b.root.ChangePassword(b.id("alice"), "secret", "changed"))
		require.NoError(b, b.login("alice", "changed"), "at once")
		b.refused("alice", "secret")
		stops := func() {
			b.Helper()
			require.Eventually(b, func() bool { return b.login("alice", "changed") != nil }, patience, tick)
			b.refused("alice", "changed")
		}
		inactive, active := iggcon.Inactive, iggcon.Active
		require.NoError(b, b.root.UpdateUser(b.id("alice"), nil, &inactive))
		stops()
		require.NoError(b, b.root.UpdateUser(b.id("alice"), nil, &active))
		require.NoError(b, b.login("alice", "changed"))
		require.NoError(b, b.root.DeleteUser(b.id("alice")))
		stops()

		audit := b.logs.FilterLoggerName("audit").FilterMessageSnippet("login").All()
		require.NotEmpty(b, audit)
		inactives := 0
		for _, line := range audit {
			for name, value := range line.ContextMap() {
				require.NotContains(b, fmt.Sprint(value), "secret", name)
				require.NotContains(b, fmt.Sprint(value), "changed", name)
			}
			if line.ContextMap()["reason"] == "wrong user name or password: the user is inactive in the Iggy server" {
				inactives++
			}
		}
		require.NotZero(b, inactives, "%v", audit)
	})
}

// While the server is away or silent nobody is told that a password is wrong: the
// connection closes, and who was remembered gets in.
func TestServerAwayAtLogin(t *testing.T) {
	gateways(t, func(c *app.Config) {
		c.SASL.Iggy.CacheTime, c.SASL.Iggy.Timeout = time.Hour, 2*time.Second
		c.Iggy.RequestTimeout = time.Second
	}, func(b *box) {
		for _, user := range []string{"alice", "bob"} {
			_, err := b.root.CreateUser(user, "secret", iggcon.Active, nil)
			require.NoError(b, err)
		}
		require.NoError(b, b.login("alice", "secret"))
		unknown := func() {
			b.Helper()
			err := b.login("bob", "secret")
			require.Error(b, err)
			require.NotErrorIs(b, err, kerr.SaslAuthenticationFailed)
			lines := b.logs.FilterLoggerName("audit").FilterMessageSnippet("login").All()
			require.NotEmpty(b, lines)
			require.Contains(b, lines[len(lines)-1].ContextMap()["reason"], "the login could not be checked")
		}
		b.server.Pause()
		require.NoError(b, b.login("alice", "secret"), "it is remembered")
		unknown()
		unknown()
		b.server.Resume()
		require.Eventually(b, func() bool { return b.login("bob", "secret") == nil }, patience, tick)
		b.server.Kill()
		_, err := b.root.GetStats()
		require.Error(b, err)
		b.server.Start()
		require.Eventually(b, func() bool { return b.login(iggytest.Username, iggytest.Password) == nil }, patience, tick)
	})
}
