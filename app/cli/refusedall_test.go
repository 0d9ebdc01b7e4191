package cli_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/metadata"
)

// refusing refuses a topic where all are asked for.
type refusing struct{ handler.Handler }

func (r refusing) Handle(ctx context.Context, call handler.Call, req kmsg.Request) (kmsg.Response, error) {
	resp, err := r.Handler.Handle(ctx, call, req)
	if found, ok := resp.(*kmsg.MetadataResponse); ok && req.(*kmsg.MetadataRequest).Topics == nil {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.ErrorCode = kmsg.StringPtr("secret"), kerr.TopicAuthorizationFailed.Code
		found.Topics = append(found.Topics, topic)
	}
	return resp, err
}

// A refusal of everything is no empty answer.
func TestRefusalOfAllTopics(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, fx.Provide(func(b backend.Backend, node *settings.Node, cfg settings.Topics) handler.Replacement {
		return handler.Replacement{Handler: refusing{metadata.New(b, cluster.New(b, node), cfg)}}
	}))
	_, err := execute(t, "topics", "create", "orders", "-p", "1", "--bootstrap", addr)
	require.NoError(t, err)
	for _, command := range [][]string{{"topics", "list", "--internal"}, {"topics", "list"}} {
		out, err := execute(t, append(command, "--bootstrap", addr)...)
		require.ErrorContains(t, err, "TOPIC_AUTHORIZATION_FAILED", command)
		require.NotContains(t, err.Error(), ": TOPIC", "there is no name to put in front")
		require.Empty(t, out, command)
	}
}

func TestRefusalOfAllGroups(t *testing.T) {
	t.Parallel()
	g := newGuest(t)
	client, err := cli.Connect(t.Context(), []string{g.flags[1]},
		cli.Connection{User: "carol", PasswordFile: g.flags[5], Mechanism: "SCRAM-SHA-256"})
	require.NoError(t, err)
	defer client.Close()
	lags, err := cli.Lag(t.Context(), client)
	require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)
	require.Empty(t, lags)
	lags, err = cli.Lag(t.Context(), client, "her-herorders", "her-members")
	require.NoError(t, err)
	require.NoError(t, lags["her-herorders"].DescribeErr)
	require.ErrorIs(t, lags["her-members"].DescribeErr, kerr.TopicAuthorizationFailed)
}
