package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestLogDirs(t *testing.T) {
	addr := gatewaytest.Start(t, logDirs)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()

	dirs, err := kadm.NewClient(client).DescribeAllLogDirs(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, dirs[1], "memory") // where a gateway under test keeps its records
}
