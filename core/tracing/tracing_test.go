package tracing

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector takes OTLP over HTTP.
func collector(t *testing.T, path string) (url string, spans <-chan *otlp.Span) {
	t.Helper()
	out := make(chan *otlp.Span, 10_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		var got collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(raw, &got); err != nil {
			t.Error(err)
		}
		for _, resource := range got.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					out <- span
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, out
}

// Collector takes what is sent to /v1/traces.
func Collector(t *testing.T) (url string, spans <-chan *otlp.Span) { return collector(t, "/v1/traces") }

// graph composes the module as a gateway does.
func graph(t *testing.T, c Config, log *zap.Logger) (*Tracer, *fxtest.App) {
	t.Helper()
	var tracer *Tracer
	app := fxtest.New(t, fx.NopLogger, Module, fx.Supply(c, log), fx.Populate(&tracer))
	app.RequireStart()
	return tracer, app
}

// Spans get to the collector, with their parents; what is in the queue is
// delivered at the end.
func TestSpansAreDelivered(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "/otel/traces"} {
		want := path
		if len(path) < 2 {
			want = "/v1/traces"
		}
		url, spans := collector(t, want)
		tracer, app := graph(t, Config{Endpoint: url + path, SampleRatio: 1}, zap.NewNop())
		ctx, request := tracer.Start(context.Background(), "Fetch", trace.SpanKindServer)
		_, call := tracer.Start(ctx, "backend read", trace.SpanKindInternal)
		call.End()
		request.End()
		app.RequireStop()
		first, second := <-spans, <-spans
		require.Equal(t, "backend read", first.Name)
		require.Equal(t, "Fetch", second.Name)
		require.Equal(t, second.SpanId, first.ParentSpanId)
		require.Equal(t, otlp.Span_SPAN_KIND_SERVER, second.Kind)
	}
}

// A ratio of zero traces nothing, though there is a collector.
func TestSampling(t *testing.T) {
	t.Parallel()
	tracer, app := graph(t, Config{Endpoint: "http://127.0.0.1:1", SampleRatio: 0}, zap.NewNop())
	_, span := tracer.Start(context.Background(), "Fetch", trace.SpanKindServer)
	require.False(t, span.IsRecording())
	span.End()
	app.RequireStop()
}

// A collector that refuses is one line in the log, however often it does.
func TestCollectorThatFails(t *testing.T) {
	t.Parallel()
	url, _ := collector(t, "/elsewhere")
	core, logs := observer.New(zapcore.DebugLevel)
	e, err := NewExporter(Config{Endpoint: url, SampleRatio: 1}, zap.New(core))
	require.NoError(t, err)
	for range 5 {
		_, span := e.Tracer().Start(context.Background(), "Fetch", trace.SpanKindServer)
		span.End()
		require.NoError(t, e.provider.ForceFlush(t.Context()))
	}
	require.Equal(t, 1, logs.Len())
	require.Contains(t, logs.All()[0].Message, "tracing.endpoint")
	e.Stop(t.Context())
}

// More spans than the queue holds are dropped, and nobody waits for a collector
// that does not answer.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hang) })
	e, err := NewExporter(Config{Endpoint: s.URL, SampleRatio: 1}, zap.NewNop())
	require.NoError(t, err)
	for range 3 * queueLength {
		_, span := e.Tracer().Start(context.Background(), "Fetch", trace.SpanKindServer)
		span.End()
	}
	e.Stop(t.Context())
}

func TestOff(t *testing.T) {
	t.Parallel()
	tracer, app := graph(t, DefaultConfig(), zap.NewNop())
	require.Nil(t, tracer)
	app.RequireStop()
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	require.NoError(t, Config{Endpoint: "https://otel.example/x", SampleRatio: 1}.Validate())
	for _, bad := range []string{"127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://", "\x00"} {
		require.ErrorContains(t, Config{Endpoint: bad}.Validate(), "tracing.endpoint: ", bad)
	}
	for _, bad := range []float64{-0.1, 1.1} {
		require.ErrorContains(t, Config{SampleRatio: bad}.Validate(), "tracing.sample_ratio: ", bad)
	}
}
