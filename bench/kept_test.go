package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// A server that keeps groups shows all of them, and is left with none.
func TestKeptGroups(t *testing.T) {
	target := &target{name: "A", addr: gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Groups.Coordinator = "durable" }))}
	o := options{groups: 20, live: 5}
	for range 2 {
		got := map[string]float64{}
		require.NoError(t, keptGroups(t.Context(), target, o, func(figure, _ string, v float64) { got[figure] = v }))
		require.Contains(t, got, "ListGroups of 25 groups p50")
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(target.addr))
	require.NoError(t, err)
	defer cl.Close()
	left, err := kadm.NewClient(cl).ListGroups(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}
