package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/clienttest"
)

// A consumer of the Java client pushes what it is asked for (KIP-714): the
// metrics of consumers, compressed as it prefers, with topics as labels.
func TestJavaPushes(t *testing.T) {
	if _, ok := clienttest.Broker(); ok {
		t.Skip("a gateway of its own is needed")
	}
	classPath := install(t, "4.4")
	var registry *prometheus.Registry
	addr := gatewaytest.Start(t, fx.Populate(&registry), gatewaytest.Config(func(c *app.Config) {
		c.Telemetry.Metrics, c.Telemetry.PushInterval = "org.apache.kafka.consumer.fetch.,org.apache.kafka.consumer.coordinator.", 500*time.Millisecond
	}))
	startProcess(t, classPath, "kafka-console-consumer", "--bootstrap-server", addr, "--topic", "pushed", "--group", "pushers")

	pushed := func() map[string]string {
		families, err := registry.Gather()
		require.NoError(t, err)
		found := map[string]string{}
		for _, f := range families {
			if name, ok := strings.CutPrefix(f.GetName(), "kafka_client_"); ok {
				for _, l := range f.Metric[0].Label {
					found[name] += l.GetName() + " "
				}
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return len(pushed()) > 0 }, time.Minute, 100*time.Millisecond)
	for name, labels := range pushed() {
		require.True(t, strings.HasPrefix(name, "consumer_fetch_") || strings.HasPrefix(name, "consumer_coordinator_"), name)
		require.Contains(t, labels, "client_id client_instance_id ")
	}
	require.Contains(t, pushed(), "consumer_coordinator_heartbeat_total")
}
