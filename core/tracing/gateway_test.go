package tracing_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/tracing"
)

// A request to a whole gateway is a span, and its calls to the store lie below it.
func TestGatewayIsTraced(t *testing.T) {
	t.Parallel()
	url, spans := tracing.Collector(t)
	addr := gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) {
		c.Tracing = tracing.Config{Endpoint: url, SampleRatio: 1}
	}))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.ClientID("tester"))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("one")}).FirstErr())

	byID := map[string]*otlp.Span{}
	var stored *otlp.Span
	for deadline := time.After(time.Minute); stored == nil || byID[hex.EncodeToString(stored.ParentSpanId)] == nil; {
		select {
		case span := <-spans:
			byID[hex.EncodeToString(span.SpanId)] = span
			if span.Name == "backend append" {
				stored = span
			}
		case <-deadline:
			require.Fail(t, "no span of an append came")
		}
	}
	request := byID[hex.EncodeToString(stored.ParentSpanId)]
	require.Equal(t, "Produce", request.Name)
	attributes := map[string]string{}
	for _, a := range request.Attributes {
		attributes[a.Key] = a.Value.GetStringValue()
	}
	require.Equal(t, "tester", attributes["messaging.client.id"])
}
