package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestNobodyDeletesTopics(t *testing.T) {
	addr := gatewaytest.Start(t, gatewaytest.Plugins(gateway.Plugins(gateway.Without(kmsg.DeleteTopics))))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)

	versions, err := admin.ApiVersions(t.Context())
	require.NoError(t, err)
	broker := versions[1]
	_, _, served := broker.KeyVersions(kmsg.DeleteTopics.Int16())
	require.False(t, served)
	_, _, served = broker.KeyVersions(kmsg.CreateTopics.Int16())
	require.True(t, served)

	_, err = admin.CreateTopic(t.Context(), 1, 1, nil, "orders")
	require.NoError(t, err)
	_, err = admin.DeleteTopic(t.Context(), "orders")
	require.Error(t, err)
	topics, err := admin.ListTopics(t.Context())
	require.NoError(t, err)
	require.Contains(t, topics, "orders")
}
