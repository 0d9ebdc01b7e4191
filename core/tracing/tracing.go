// Package tracing tells an OpenTelemetry collector what requests did, where
// tracing.endpoint names one: a span for each request, and below it one for each
// call to the backend. Where it names none, nothing is done at all.
//
// A collector that cannot be reached costs clients nothing: spans wait in a queue
// of fixed length, what does not fit is dropped, and the log says so once a
// minute.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Tracer begins spans. Where there is no tracing there is a nil *Tracer, which
// must not be asked for any.
type Tracer struct{ tracer trace.Tracer }

// scope names this program as the source of spans.
const scope = "github.com/iggykafka/gateway"

// New returns a tracer whose spans go to a provider.
func New(p trace.TracerProvider) *Tracer { return &Tracer{p.Tracer(scope)} }

// Start begins a span, below that of ctx if there is one. Whoever begins it ends
// it.
func (t *Tracer) Start(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}
