package dispatch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/iggykafka/gateway/core/wire"
)

// begin begins the span of a request; nil where requests are not traced.
func (d *Dispatcher) begin(ctx context.Context, r *route, from *Caller, head wire.Header) (context.Context, trace.Span) {
	if d.tracer == nil {
		return ctx, nil
	}
	ctx, span := d.tracer.Start(ctx, r.name, trace.SpanKindServer)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("rpc.system", "kafka"),
			attribute.Int("kafka.api_key", int(head.Key)),
			attribute.Int("kafka.api_version", int(head.Version)),
			attribute.Int("kafka.correlation_id", int(head.CorrelationID)),
			attribute.String("messaging.client.id", from.clientID),
			attribute.String("client.address", from.Host),
			attribute.Int("kafka.request.bytes", from.request.received),
		)
	}
	return ctx, span
}

// end ends it. An error code in the answer is the client's matter and only named;
// what closes the connection is an error of the span.
func end(span trace.Span, q request, answer *Answer, err error) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if q.waited > 0 {
		span.SetAttributes(attribute.Float64("kafka.waited_seconds", q.waited.Seconds()))
	}
	if answer != nil {
		span.SetAttributes(attribute.Int("kafka.response.bytes", answer.Size()))
	}
	if q.codes.first != 0 {
		span.SetAttributes(attribute.String("kafka.error_code", codeName(q.codes.first)))
	}
	if err != nil {
		span.SetStatus(otelcodes.Error, err.Error())
		if failed, ok := err.(*Error); ok {
			span.SetAttributes(attribute.String("error.type", string(failed.Reason)))
		}
	}
}
