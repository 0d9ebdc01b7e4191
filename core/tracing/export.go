package tracing

import (
	"context"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
)

const (
	// queueLength is the number of spans that wait for the collector at most.
	queueLength = 4096
	// exportTimeout bounds one delivery; what is not delivered is dropped.
	exportTimeout = 5 * time.Second
	// stopTimeout bounds the last delivery, when the gateway stops.
	stopTimeout = 2 * time.Second
	// quiet is how long the log says nothing more of a collector that fails.
	quiet = time.Minute
)

// Exporter delivers spans to a collector.
type Exporter struct {
	provider *sdktrace.TracerProvider
}

// NewExporter returns an exporter, and makes no connection yet. The configuration
// must be valid and have an endpoint.
func NewExporter(c Config, log *zap.Logger) (*Exporter, error) {
	opts := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(withPath(c.Endpoint)),
		otlptracehttp.WithTimeout(exportTimeout),
		// No second attempt: meanwhile the queue would fill, and spans are not
		// worth it.
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}),
	}
	client, err := otlptracehttp.New(context.Background(), opts...)
	if err != nil {
		return nil, err
	}
	return &Exporter{sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(c.SampleRatio)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "kafka-gateway"),
			attribute.String("service.version", version()),
		)),
		sdktrace.WithBatcher(&quietly{SpanExporter: client, log: log.Named("tracing")},
			sdktrace.WithMaxQueueSize(queueLength), sdktrace.WithExportTimeout(exportTimeout)),
	)}, nil
}

// withPath adds the path of the protocol to a URL that has none.
func withPath(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && (u.Path == "" || u.Path == "/") {
		u.Path = "/v1/traces"
		return u.String()
	}
	return endpoint
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Tracer returns the tracer whose spans are delivered.
func (e *Exporter) Tracer() *Tracer { return New(e.provider) }

// Stop delivers what is in the queue, if that does not take long, and ends the
// exporter. A collector that is not there is no error of the gateway.
func (e *Exporter) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	_ = e.provider.Shutdown(ctx)
}

// quietly logs what fails, once in a while, in place of the SDK, which would have
// every failure written to the standard log.
type quietly struct {
	sdktrace.SpanExporter
	log *zap.Logger

	mu     sync.Mutex
	lost   int       // spans since the last line
	silent time.Time // until then
}

func (q *quietly) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := q.SpanExporter.ExportSpans(ctx, spans); err != nil {
		q.note(len(spans), err)
	}
	return nil
}

func (q *quietly) note(lost int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += lost
	if now := time.Now(); now.After(q.silent) {
		q.log.Warn("the collector at tracing.endpoint does not take spans; they are dropped", zap.Int("spans", q.lost), zap.Error(err))
		q.lost, q.silent = 0, now.Add(quiet)
	}
}
