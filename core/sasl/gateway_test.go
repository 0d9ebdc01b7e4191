package sasl_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	kplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/plain"
)

// names are users whose passwords are their names.
type names []string

func (n names) Verify(_ context.Context, _ security.Requester, user, password string) error {
	for _, name := range n {
		if name == user && user == password {
			return nil
		}
	}
	return plain.ErrWrong
}

// start runs a gateway whose users are alice and bob, and returns the address where
// they log in.
func start(t *testing.T, mechanisms []string, change func(*app.Config), opts ...fx.Option) (addr string) {
	t.Helper()
	gatewaytest.Start(t, append(opts,
		gatewaytest.Listener("logins", server.ListenerConfig{Protocol: "SASL_PLAINTEXT", Mechanisms: mechanisms}, &addr),
		gatewaytest.Config(func(c *app.Config) {
			c.SASL.Plain.Passwords = "names"
			c.SASL.Logins.FailureDelay = time.Millisecond
			if change != nil {
				change(c)
			}
		}),
		fx.Provide(func() plain.Out {
			return plain.Out{Candidate: plain.Candidate{Name: "names", Make: func() (plain.Passwords, error) {
				return names{"alice", "bob"}, nil
			}}}
		}),
	)...)
	return addr
}

// What comes back on raw connections; see sasltest.Flow. But for those of
// testdata/gateway they are compared with a broker, too, by clienttest/oracle.
func TestFlows(t *testing.T) {
	run := func(path, addr string) { flows(t, path, addr) }
	addr := start(t, []string{"PLAIN"}, nil)
	run("testdata/kafka/plain.txt", addr)
	run("testdata/gateway/plain.txt", addr)
	run("testdata/plaintext/none.txt", gatewaytest.Start(t))
	renewed := start(t, nil, func(c *app.Config) { c.SASL.Logins.MaxReauth = time.Hour })
	run("testdata/renewed/renewed.txt", renewed)
	run("testdata/gateway/renewed.txt", renewed)
}

// Logins that end, which takes its time.
func TestEndsOfLogins(t *testing.T) {
	t.Parallel()
	flows(t, "testdata/ends/ends.txt", start(t, nil, func(c *app.Config) { c.SASL.Logins.MaxReauth = 6 * time.Second }))
}

func flows(t *testing.T, path, addr string) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		return sasltest.Flow(t, addr, d.Input)
	})
}

func franz(t *testing.T, addr, user, password string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr),
		kgo.SASL(kplain.Auth{User: user, Pass: password}.AsMechanism()))...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// breaks counts the connections of a client that end.
type breaks struct{ atomic.Int32 }

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (b *breaks) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { b.Add(1) }

// A stock client logs in, works, and renews its login in time: its connections
// outlive several logins.
func TestRenewalByAClient(t *testing.T) {
	t.Parallel()
	var url string
	addr := start(t, nil, func(c *app.Config) { c.SASL.Logins.MaxReauth = 4 * time.Second }, gatewaytest.Admin(&url))
	ended := &breaks{}
	c := franz(t, addr, "alice", "alice", kgo.AllowAutoTopicCreation(), kgo.WithHooks(ended))
	renewed := func() bool {
		resp, err := http.Get(url + "/metrics")
		require.NoError(t, err)
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return regexp.MustCompile(`(?m)^kafka_gateway_reauthentications_total{mechanism="PLAIN",result="success"} ([2-9]|\d\d)`).Match(page)
	}
	require.Eventually(t, func() bool {
		require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr())
		return renewed()
	}, time.Minute, 50*time.Millisecond)
	require.Zero(t, ended.Load())
}

// A wrong password gets Kafka's code.
func TestWrongPasswordOfAClient(t *testing.T) {
	t.Parallel()
	addr := start(t, nil, nil)
	_, err := kadm.NewClient(franz(t, addr, "alice", "wrong")).Metadata(t.Context())
	require.ErrorIs(t, err, kerr.SaslAuthenticationFailed)
	_, err = kadm.NewClient(franz(t, addr, "alice", "alice")).Metadata(t.Context())
	require.NoError(t, err)
}

// A program may bring mechanisms of its own, which stand beside the others.
func TestMechanismOfAnotherModule(t *testing.T) {
	t.Parallel()
	mine := fx.Provide(func() sasl.Out { return sasl.Out{Mechanism: sasltest.Words("WORDS")} })
	addr := start(t, []string{"WORDS"}, nil, mine)
	require.Equal(t, `handshake: code 0, 1 mechanisms
token: code 0, "", token "welcome", lifetime 0
metadata: answered
`, sasltest.Flow(t, addr, `
		handshake 1 WORDS
		token 1 "carol right"
		metadata 1`))
	require.Equal(t, "handshake: code 33, 1 mechanisms\n", sasltest.Flow(t, addr, "handshake 1 PLAIN"))
}
