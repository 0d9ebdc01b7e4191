package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestLogDirs(t *testing.T) {
	addr := gatewaytest.Start(t, logDirs, gatewaytest.Config(func(c *app.Config) { c.Storage.Dir = "/srv/kafka" }))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()

	dirs, err := kadm.NewClient(client).DescribeAllLogDirs(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, dirs[1], "/srv/kafka")
}
