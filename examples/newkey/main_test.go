package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestTokens(t *testing.T) {
	addr := gatewaytest.Start(t, tokens)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()

	_, err = kadm.NewClient(client).DescribeDelegationTokens(t.Context(), kadm.Principal{Type: "User", Name: "alice"})
	require.ErrorIs(t, err, kerr.DelegationTokenAuthDisabled)
}
