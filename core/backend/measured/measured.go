// Package measured puts around a backend what measures it: how long each of its
// operations takes, which errors it returns, and how many records and bytes go in
// and out. With a tracer each operation is a span below that of its request.
package measured

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/tracing"
)

// Backend is a backend that is measured. Watch and ClusterID are not: they only
// look at what is in memory.
type Backend struct {
	backend.Backend
	ops     operations
	traffic traffic
	tracer  *tracing.Tracer
}

var _ backend.Backend = (*Backend)(nil)

// Healthy returns what the backend says of its health, where it has something to
// say beyond being open.
func (b *Backend) Healthy(ctx context.Context) error {
	if h, ok := b.Backend.(interface{ Healthy(context.Context) error }); ok {
		return h.Healthy(ctx)
	}
	_, err := b.ClusterID(ctx)
	return err
}

// started is what calls are timed from: the time since then takes one look at one
// clock, where time.Now looks at two. Calls into memory take little longer.
var started = time.Now()

// call is one call of an operation.
type call struct {
	op    *operation
	began time.Duration // since started
	span  trace.Span
}

// begin begins a call. Only what belongs to a request is traced.
func (b *Backend) begin(ctx context.Context, op *operation) (context.Context, call) {
	c := call{op: op, began: time.Since(started)}
	if b.tracer != nil && trace.SpanFromContext(ctx).IsRecording() {
		ctx, c.span = b.tracer.Start(ctx, op.span, trace.SpanKindInternal)
	}
	return ctx, c
}

// end ends it, and counts its error.
func (c call) end(err error) {
	c.op.duration().Observe((time.Since(started) - c.began).Seconds())
	if err != nil {
		c.op.failed(err)
	}
	if c.span == nil {
		return
	}
	if err != nil {
		c.span.SetStatus(codes.Error, err.Error())
	}
	c.span.End()
}

// causes name the errors of a backend in a label.
var causes = []struct {
	err  error
	name string
}{
	{backend.ErrUnknownTopic, "unknown_topic"},
	{backend.ErrUnknownPartition, "unknown_partition"},
	{backend.ErrTopicExists, "topic_exists"},
	{backend.ErrTooManyTopics, "too_many_topics"},
	{backend.ErrPartitionCount, "partition_count"},
	{backend.ErrOffsetOutOfRange, "offset_out_of_range"},
	{backend.ErrOutOfOrderSequence, "out_of_order_sequence"},
	{backend.ErrInvalidProducerEpoch, "invalid_producer_epoch"},
	{backend.ErrTooLarge, "too_large"},
	{backend.ErrUnavailable, "unavailable"},
	{backend.ErrOutcomeUnknown, "outcome_unknown"},
	{backend.ErrStorage, "storage"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline"},
}

// trouble are the causes that are no answers to what clients ask.
var trouble = [...]string{"unavailable", "outcome_unknown", "storage", "other"}

// cause names an error; "other" is one that nobody foresaw.
func cause(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	var refused *backend.ConfigError
	if errors.As(err, &refused) {
		return "config"
	}
	return "other"
}
