//go:build cgo

package confluent

import (
	"strings"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/clienttest"
)

// series returns the names of the series that clients have pushed, with the
// client ids that they have.
func series(t *testing.T, registry *prometheus.Registry) map[string][]string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string][]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "kafka_client_") {
			continue
		}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "client_id" {
					found[f.GetName()] = append(found[f.GetName()], l.GetValue())
				}
			}
		}
	}
	return found
}

// start runs a gateway that asks clients for metrics, and a producer that logs
// all it has to say.
func start(t *testing.T, metrics string) (*prometheus.Registry, *kafka.Producer) {
	t.Helper()
	var registry *prometheus.Registry
	addr := gatewaytest.Start(t, fx.Populate(&registry), gatewaytest.Config(func(c *app.Config) {
		c.Telemetry.Metrics, c.Telemetry.PushInterval = metrics, 200*time.Millisecond
	}))
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": addr, "client.id": "pusher", "go.logs.channel.enable": true, "go.delivery.reports": false, "log_level": 6,
	})
	require.NoError(t, err)
	topic := "pushed"
	require.NoError(t, producer.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}}, nil))
	return registry, producer
}

// What librdkafka pushes becomes series, by every version of it that pushes.
func TestPushes(t *testing.T) {
	if _, ok := clienttest.Broker(); ok {
		t.Skip("a gateway of its own is needed")
	}
	registry, producer := start(t, "*")
	defer producer.Close()
	require.Eventually(t, func() bool {
		return len(series(t, registry)["kafka_client_producer_connection_creation_total"]) == 1
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, []string{"pusher"}, series(t, registry)["kafka_client_producer_connection_creation_total"])
}

// Without a subscription clients are not told of the keys, so that they neither
// ask nor say anything about it.
func TestQuiet(t *testing.T) {
	if _, ok := clienttest.Broker(); ok {
		t.Skip("a gateway of its own is needed")
	}
	registry, producer := start(t, "")
	require.Zero(t, producer.Flush(60_000), "not produced in time")
	producer.Close()
	require.Empty(t, series(t, registry))
	for {
		line, ok := <-producer.Logs()
		if !ok {
			return
		}
		t.Errorf("librdkafka says %s", line.Message)
	}
}
