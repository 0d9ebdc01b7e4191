package metrics_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// scrape reads what a gateway shows to Prometheus.
func scrape(t testing.TB, url string) map[string]*dto.MetricFamily {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	return families
}

// busy is a gateway that has seen traffic of all kinds: a producer, a group that
// has committed and lags behind, an error, a refusal.
func busy(t testing.TB, opts ...fx.Option) (url string) {
	t.Helper()
	opts = append(opts, gatewaytest.Admin(&url), gatewaytest.Config(func(c *app.Config) { c.Metrics.LagInterval = time.Millisecond }))
	addr := gatewaytest.Start(t, opts...)
	client := func(opts ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation())...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	ctx := t.Context()
	producer := client()
	for range 10 {
		require.NoError(t, producer.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("one")}).FirstErr())
	}
	consumer := client(kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("billing"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for n := 0; n < 10; {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		n += fetches.NumRecords()
	}
	_, err := kadm.NewClient(producer).CommitOffsets(ctx, "audit", func() kadm.Offsets {
		var o kadm.Offsets = make(kadm.Offsets)
		o.AddOffset("orders", 0, 4, -1)
		return o
	}())
	require.NoError(t, err)
	_, err = kadm.NewClient(producer).CreateTopic(ctx, 1, 1, nil, "orders")
	require.Error(t, err)

	gone := client()
	require.NoError(t, gone.Ping(ctx))
	gone.Close()
	require.Eventually(t, func() bool {
		return scrape(t, url)["kafka_gateway_connections_closed_total"] != nil
	}, 30*time.Second, 10*time.Millisecond)
	return url
}

// value returns the sum of the samples of a metric that have all the labels.
func value(families map[string]*dto.MetricFamily, name string, labels map[string]string) float64 {
	sum := 0.0
	for _, m := range families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.Label {
			have[l.GetName()] = l.GetValue()
		}
		matches := true
		for k, v := range labels {
			matches = matches && have[k] == v
		}
		if matches {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func TestGatewayIsMeasured(t *testing.T) {
	t.Parallel()
	url := busy(t)
	require.Eventually(t, func() bool { // from the first look after the commit
		return value(scrape(t, url), "kafka_gateway_consumer_lag_records", map[string]string{"group": "audit"}) == 6
	}, 30*time.Second, 10*time.Millisecond)
	got := scrape(t, url)
	is := func(want float64, name string, labels ...string) {
		t.Helper()
		pairs := map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			pairs[labels[i]] = labels[i+1]
		}
		require.Equal(t, want, value(got, "kafka_gateway_"+name, pairs), "%s %v", name, labels)
	}
	is(10, "appended_records_total")
	is(10, "request_duration_seconds", "api", "Produce")
	is(10, "requests_total", "api", "Produce")
	is(1, "response_errors_total", "api", "CreateTopics", "code", "TOPIC_ALREADY_EXISTS")
	is(1, "topics")
	is(1, "build_info")
	is(0, "consumer_lag_omitted_groups")
	is(512<<20, "memory_budget_bytes")
	require.Positive(t, value(got, "kafka_gateway_backend_operation_errors_total", map[string]string{"operation": "topic", "cause": "unknown_topic"}))
	require.GreaterOrEqual(t, value(got, "kafka_gateway_read_records_total", nil), 10.0)
	require.Positive(t, value(got, "promhttp_metric_handler_requests_total", nil))
	require.Positive(t, value(got, "go_goroutines", nil))
}

// Names and help texts follow the conventions of Prometheus.
func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	families := scrape(t, busy(t))
	var ours []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if strings.HasPrefix(name, "kafka_gateway_") {
			ours = append(ours, families[name])
		}
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	for _, f := range ours {
		require.True(t, strings.HasSuffix(f.GetHelp(), "."), "%s: %s", f.GetName(), f.GetHelp())
	}
}

// What a scrape of a gateway costs it, and the client here.
func BenchmarkScrapeGateway(b *testing.B) {
	url := busy(b)
	for b.Loop() {
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}
