package gatewaytest_test

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func admin(t *testing.T, addr string) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func TestGatewaysAreApart(t *testing.T) {
	t.Parallel()
	one, two := admin(t, gatewaytest.Start(t)), admin(t, gatewaytest.Start(t))
	_, err := one.CreateTopic(t.Context(), 1, 1, nil, "orders")
	require.NoError(t, err)
	topics, err := two.ListTopics(t.Context())
	require.NoError(t, err)
	require.Empty(t, topics)
}

func TestConfigChangesHappenInOrder(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t,
		gatewaytest.Config(func(c *app.Config) { c.NodeID = 6 }),
		gatewaytest.Config(func(c *app.Config) { c.NodeID++ }))
	brokers, err := admin(t, addr).ListBrokers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int32{7}, brokers.NodeIDs())
}

func TestCoordinatorIsReplaced(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, gatewaytest.Coordinator(&coordinatortest.Fake{
		ListFunc: func(context.Context, coordinator.Filter) []coordinator.Listing {
			return []coordinator.Listing{{Group: "orders", State: coordinator.Stable}}
		},
	}))
	groups, err := admin(t, addr).ListGroups(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"orders"}, groups.Groups())
}

// failing records that a test failed, in the place of the test itself.
type failing struct {
	testing.TB
	fatal string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.fatal = format
	panic(f) // Fatalf does not return
}

// An option that Start does not see must not be ignored in silence.
func TestOptionsInsideOptionsAreRefused(t *testing.T) {
	t.Parallel()
	f := &failing{TB: t}
	require.PanicsWithValue(t, f, func() {
		gatewaytest.Start(f, fx.Options(gatewaytest.Config(func(*app.Config) {})))
	})
	require.Equal(t, "gatewaytest: the gateway does not fit together: %v", f.fatal)
}

// Each listener points its clients to itself.
func TestListeners(t *testing.T) {
	t.Parallel()
	var second, third string
	first := gatewaytest.Start(t,
		gatewaytest.Listener("second", server.ListenerConfig{}, &second),
		gatewaytest.Listener("third", server.ListenerConfig{Advertise: "127.0.0.1"}, &third))
	for _, addr := range []string{first, second, third} {
		brokers, err := admin(t, addr).ListBrokers(t.Context())
		require.NoError(t, err)
		require.Len(t, brokers, 1)
		require.Equal(t, addr, net.JoinHostPort(brokers[0].Host, strconv.Itoa(int(brokers[0].Port))))
	}
	require.NotEqual(t, second, third)
}
