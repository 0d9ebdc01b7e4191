package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestTeams(t *testing.T) {
	var guarded string
	open := gatewaytest.Start(t, module,
		gatewaytest.Listener("guarded", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &guarded),
		gatewaytest.Config(func(c *app.Config) {
			c.Authorization.Authorizer, c.Authorization.SuperUsers = "teams", []string{"User:ANONYMOUS"} // who makes the user
		}))
	users, err := connect(t, open).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{
		{User: "orders", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"},
	})
	require.NoError(t, err)
	require.NoError(t, users.Error())

	orders := connect(t, guarded, kgo.SASL(scram.Auth{User: "orders", Pass: "secret"}.AsSha256Mechanism()))
	created, err := orders.CreateTopics(t.Context(), 1, 1, nil, "orders.new", "billing.new")
	require.NoError(t, err)
	require.NoError(t, created["orders.new"].Err)
	require.ErrorIs(t, created["billing.new"].Err, kerr.TopicAuthorizationFailed)
}

func connect(t *testing.T, addr string, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func TestConform(t *testing.T) {
	securitytest.Authorizers(t, func(*testing.T) securitytest.Authorizing {
		orders := security.Requester{Principal: security.User("orders"), Host: "10.0.0.7"}
		ask := func(topic string) []securitytest.Question {
			return []securitytest.Question{{Who: orders, Operation: kmsg.ACLOperationRead,
				On: security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: topic}}}
		}
		return securitytest.Authorizing{Authorizer: teams{"orders"}, May: ask("orders.new"), MayAny: ask(""), MayNot: ask("billing.new")}
	})
}
