package measured_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/backend/measured"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/core/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unmeasured are the methods that only look at what is in memory.
var unmeasured = map[string]bool{"Watch": true, "ClusterID": true}

// Every method of a backend is measured under a name of its own, its error
// counted, and what it returns passed on.
func TestEveryOperationIsMeasured(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	b, err := measured.New(backendtest.Failing(nil, backend.ErrStorage), registry, nil)
	require.NoError(t, err)
	var methods int
	contract := reflect.TypeFor[backend.Backend]()
	for i := range contract.NumMethod() {
		method := contract.Method(i)
		args := make([]reflect.Value, method.Type.NumIn())
		for j := range args {
			args[j] = reflect.Zero(method.Type.In(j))
		}
		args[0] = argument(method.Name, args[0])
		if method.Name == "Append" {
			args[1] = reflect.ValueOf(make([]backend.Append, 1))
		}
		results := reflect.ValueOf(b).MethodByName(method.Name).Call(args)
		if unmeasured[method.Name] {
			continue
		}
		methods++
		last := results[len(results)-1].Interface()
		if done, ok := last.([]backend.Appended); ok {
			last = done[0].Err
		}
		require.ErrorIs(t, last.(error), backend.ErrStorage, method.Name)
	}
	require.Len(t, samples(t, registry, "kafka_gateway_backend_operation_duration_seconds"), methods)
	failures := samples(t, registry, "kafka_gateway_backend_operation_errors_total")
	require.Len(t, failures, 4*methods, "each cause that is trouble is there from the first call on, for alerts over rates")
	for _, m := range failures {
		cause := m.Label[0].GetValue()
		require.Contains(t, []string{"unavailable", "outcome_unknown", "storage", "other"}, cause)
		require.Equal(t, cause == "storage", m.GetCounter().GetValue() == 1, m)
	}
}

// argument is a context where a method takes one.
func argument(method string, zero reflect.Value) reflect.Value {
	if method == "Watch" {
		return zero
	}
	return reflect.ValueOf(context.Background())
}

func samples(t *testing.T, r *prometheus.Registry, name string) []*dto.Metric {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric
		}
	}
	return nil
}

// scripted appends and reads what it is told.
type scripted struct {
	backend.Backend
	appended []backend.Appended
	batches  []byte
}

func (s scripted) Append(context.Context, []backend.Append) []backend.Appended { return s.appended }

func (s scripted) Read(context.Context, backend.Read) ([]byte, backend.Bounds, error) {
	return s.batches, backend.Bounds{}, nil
}

func (scripted) Healthy(context.Context) error { return errors.New("the disk is wet") }

// Records and bytes are counted when they were stored, and not twice.
func TestTrafficIsCounted(t *testing.T) {
	t.Parallel()
	batch := recordtest.Values("a", "b", "c").Batch(t)
	size := float64(len(batch.Bytes))
	registry := prometheus.NewRegistry()
	b, err := measured.New(scripted{
		appended: []backend.Appended{{}, {Duplicate: true}, {Err: backend.ErrTooLarge}, {Err: backend.ErrTooLarge}},
		batches:  append(append([]byte(nil), batch.Bytes...), batch.Bytes...),
	}, registry, nil)
	require.NoError(t, err)
	b.Append(t.Context(), []backend.Append{{Batch: batch}, {Batch: batch}, {Batch: batch}, {Batch: batch}})
	_, _, err = b.Read(t.Context(), backend.Read{})
	require.NoError(t, err)
	for name, want := range map[string]float64{
		"appended_records_total": 3, "appended_bytes_total": size, "duplicate_batches_total": 1,
		"read_records_total": 6, "read_bytes_total": 2 * size,
	} {
		require.Equal(t, want, samples(t, registry, "kafka_gateway_"+name)[0].GetCounter().GetValue(), name)
	}
	for _, m := range samples(t, registry, "kafka_gateway_backend_operation_errors_total") {
		require.Equal(t, m.Label[0].GetValue() == "too_large", m.GetCounter().GetValue() == 2, m)
	}
	require.EqualError(t, b.Healthy(t.Context()), "the disk is wet")
}

// Calls are traced below their request, and not outside of one.
func TestCallsAreTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tracer := tracing.New(provider)
	b, err := measured.New(backendtest.Failing(nil, backend.ErrUnavailable), prometheus.NewRegistry(), tracer)
	require.NoError(t, err)
	_, _ = b.AllTopics(t.Context())
	require.Empty(t, spans.Ended())
	ctx, request := tracer.Start(t.Context(), "Metadata", trace.SpanKindServer)
	_, _ = b.AllTopics(ctx)
	request.End()
	require.Len(t, spans.Ended(), 2)
	require.Equal(t, "backend all_topics", spans.Ended()[0].Name())
	require.Equal(t, request.SpanContext().SpanID(), spans.Ended()[0].Parent().SpanID())
	require.Equal(t, "backend unavailable", spans.Ended()[0].Status().Description)
}

// What measuring adds to a call.
func BenchmarkMeasured(b *testing.B) {
	m, err := measured.New(scripted{}, prometheus.NewRegistry(), nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = m.Read(b.Context(), backend.Read{})
	}
}
