package quotas_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// Over Iggy quotas are set, shown and removed as over the embedded store, hold for
// those whom they name and nobody else, and outlive the gateway.
func TestOverIggy(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		server := start(t, iggytest.NoFsync())
		gateway := func(t *testing.T) string {
			return gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "kafka"), gatewaytest.Config(func(c *app.Config) {
				c.Quotas.Windows, c.Quotas.WindowSize = windows, window
			}))
		}
		require.True(t, t.Run("set", func(t *testing.T) {
			addr := gateway(t)
			setQuota(t, addr, "greedy", "producer_byte_rate", 64<<10)
			setQuota(t, addr, "greedy", "consumer_byte_rate", 1<<20)
			setQuota(t, addr, "greedy", "consumer_byte_rate", 2<<20)
			setQuota(t, addr, "gone", "request_percentage", 1)
			setQuota(t, addr, "gone", "request_percentage", 0)
			bounded(t, addr)
		}))
		t.Run("still there", func(t *testing.T) {
			addr := gateway(t)
			bounded(t, addr)
			setQuota(t, addr, "greedy", "producer_byte_rate", 0)
			free, untold := newClient(t, addr, "greedy")
			send(t, free, "t", 16)
			require.Zero(t, untold.count.Load())
		})
	})
}

// bounded looks that the client "greedy" has its quotas, and is held to them alone.
func bounded(t *testing.T, addr string) {
	t.Helper()
	greedy, told := newClient(t, addr, "greedy")
	send(t, greedy, "t", 4) // 128 KiB, of 38 KiB at once
	require.Positive(t, told.count.Load())
	require.Greater(t, told.millis.Load(), int64(500))
	good, untold := newClient(t, addr, "good")
	send(t, good, "t", 16)
	require.Zero(t, untold.count.Load())
	found, err := kadm.NewClient(good).DescribeClientQuotas(t.Context(), false, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, kadm.ClientQuotaValues{{Key: "consumer_byte_rate", Value: 2 << 20}, {Key: "producer_byte_rate", Value: 64 << 10}}, found[0].Values)
}
