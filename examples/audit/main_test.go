package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestAudit(t *testing.T) {
	core, lines := observer.New(zapcore.InfoLevel)
	addr := gatewaytest.Start(t, audit, fx.Decorate(func() *zap.Logger { return zap.New(core) }))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("curious"))
	require.NoError(t, err)
	defer client.Close()

	groups, err := kadm.NewClient(client).DescribeGroups(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, "Dead", groups["orders"].State)

	written := lines.FilterMessage("groups described").All()
	require.Len(t, written, 1)
	require.Equal(t, map[string]any{"client": "curious", "host": "/127.0.0.1", "groups": []any{"orders"}}, written[0].ContextMap())
}
