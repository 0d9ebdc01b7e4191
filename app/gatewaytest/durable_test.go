package gatewaytest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// Durable groups are kept by any backend: here by an Iggy server, which outlives
// the gateway.
func TestDurableGroupsInIggy(t *testing.T) {
	server := iggytest.StandIn(t)
	lifetime := func(name string, during func(t *testing.T, addr string, admin *kadm.Client)) {
		require.True(t, t.Run(name, func(t *testing.T) {
			addr := gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "orders"),
				gatewaytest.Config(func(c *app.Config) { c.Groups.Coordinator = "durable" }))
			during(t, addr, admin(t, addr))
		}))
	}
	lifetime("a consumer stops", func(t *testing.T, addr string, admin *kadm.Client) {
		c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"),
			kgo.ConsumeTopics("t"), kgo.ConsumerGroup("g"), kgo.DisableAutoCommit())
		require.NoError(t, err)
		require.NoError(t, c.ProduceSync(t.Context(), kgo.StringRecord("one"), kgo.StringRecord("two")).FirstErr())
		for n := 0; n < 2; {
			fetched := c.PollFetches(t.Context())
			require.NoError(t, t.Context().Err())
			n += fetched.NumRecords()
		}
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.NoError(t, c.ProduceSync(t.Context(), kgo.StringRecord("three")).FirstErr())
		c.Close()
		require.Equal(t, "Empty", state(t, admin))
	})
	lifetime("its group is there", func(t *testing.T, _ string, admin *kadm.Client) {
		require.Equal(t, "Empty", state(t, admin))
		lags, err := admin.Lag(t.Context(), "g")
		require.NoError(t, err)
		lag := lags["g"]
		require.EqualValues(t, 1, lag.Lag.Total())
		_, err = admin.DeleteGroup(t.Context(), "g")
		require.NoError(t, err)
	})
	lifetime("it was deleted", func(t *testing.T, _ string, admin *kadm.Client) {
		require.Equal(t, "", state(t, admin))
	})
}

// state returns the state of the group g as it is listed; "" if it is not.
func state(t *testing.T, admin *kadm.Client) string {
	t.Helper()
	listed, err := admin.ListGroups(t.Context())
	require.NoError(t, err)
	return listed["g"].State
}
