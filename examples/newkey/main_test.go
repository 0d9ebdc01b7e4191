package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestACLs(t *testing.T) {
	addr := gatewaytest.Start(t, acls)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()

	asked := kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternAny).Allow().AllowHosts().Operations()
	answers, err := kadm.NewClient(client).DescribeACLs(t.Context(), asked)
	require.NoError(t, err)
	require.Len(t, answers, 1)
	require.ErrorIs(t, answers[0].Err, kerr.SecurityDisabled)
	require.Equal(t, "No Authorizer is configured on the broker", answers[0].ErrMessage)
}
