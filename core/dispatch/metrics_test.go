package dispatch

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	otelcodes "go.opentelemetry.io/otel/codes"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/tracing"
)

// The error codes of an answer are counted wherever they are in it.
func TestErrorCodesAreCounted(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.DescribeGroups(
		func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
			resp := kmsg.NewPtrDescribeGroupsResponse()
			for _, code := range []int16{0, 69, 69, 0, 15, 69, 12345} {
				g := kmsg.NewDescribeGroupsResponseGroup()
				g.ErrorCode = code
				resp.Groups = append(resp.Groups, g)
			}
			return resp, nil
		}), dispatchtest.Heartbeat(nil))
	_, err := b.ask(payload(kmsg.NewPtrDescribeGroupsRequest(), 5))
	require.NoError(t, err)
	_, err = b.ask(payload(kmsg.NewPtrHeartbeatRequest(), 4))
	require.NoError(t, err)

	vec := b.metrics.codes
	require.Equal(t, 3.0, testutil.ToFloat64(vec.WithLabelValues("DescribeGroups", "GROUP_ID_NOT_FOUND")))
	require.Equal(t, 1.0, testutil.ToFloat64(vec.WithLabelValues("DescribeGroups", "COORDINATOR_NOT_AVAILABLE")))
	require.Equal(t, 1.0, testutil.ToFloat64(vec.WithLabelValues("DescribeGroups", "UNKNOWN_SERVER_ERROR")), "a code that Kafka does not have")
	require.Equal(t, 3, testutil.CollectAndCount(vec), "no series where there was no error")
}

// Every response of the codec that has an error code anywhere is walked to it.
func TestEveryLayoutsCodesAreFound(t *testing.T) {
	t.Parallel()
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		resp := kmsg.ResponseForKey(key)
		if resp == nil {
			continue
		}
		v := reflect.ValueOf(resp).Elem()
		want := plant(v, maxDepth)
		r := &route{metrics: mustMetrics(t), name: "x"}
		counted := tally{route: r}
		codesOf(resp).find(resp, &counted)
		require.Equal(t, float64(want), testutil.ToFloat64(r.metrics.codes.WithLabelValues("x", "NOT_CONTROLLER")), kmsg.NameForKey(key))
	}
}

// plant puts one element into every list, and a code into every place for one;
// it returns how many there are.
func plant(v reflect.Value, depth int) int {
	n := 0
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case depth == 0 || !f.CanSet():
		case f.Kind() == reflect.Int16 && len(name) >= 9 && name[len(name)-9:] == "ErrorCode":
			f.SetInt(41)
			n++
		case f.Kind() == reflect.Struct:
			n += plant(f, depth-1)
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			n += plant(f.Index(0), depth-1)
		case f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.New(f.Type().Elem()))
			n += plant(f.Elem(), depth-1)
		}
	}
	return n
}

func mustMetrics(t testing.TB) *metrics {
	t.Helper()
	m, err := newMetrics(nil)
	require.NoError(t, err)
	return m
}

// A key has series from its first request on, and counts what it carried.
func TestRequestsAreMeasured(t *testing.T) {
	t.Parallel()
	b := open(t, defaults, dispatchtest.Heartbeat(func(ctx context.Context, call handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
		parked, stop := call.Park(ctx)
		defer stop()
		select {
		case <-parked.Done():
		case <-time.After(20 * time.Millisecond): // as one waits for other members
		}
		return kmsg.NewPtrHeartbeatResponse(), nil
	}))
	require.Zero(t, testutil.CollectAndCount(b.metrics.duration))
	request := payload(kmsg.NewPtrHeartbeatRequest(), 3)
	answer, err := b.ask(request)
	require.NoError(t, err)

	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.requests.WithLabelValues("Heartbeat", "3")))
	require.Equal(t, float64(4+len(request)), testutil.ToFloat64(b.metrics.received.WithLabelValues("Heartbeat")))
	require.Equal(t, float64(4+len(answer)), testutil.ToFloat64(b.metrics.sent.WithLabelValues("Heartbeat")))
	require.GreaterOrEqual(t, b.sum("request_duration_seconds"), 0.02)
	require.Less(t, b.sum("request_processing_seconds"), b.sum("request_duration_seconds")-0.019)
}

// sum returns the sum of a histogram with one series.
func (b *bench) sum(name string) float64 {
	families, err := b.reg.Gather()
	require.NoError(b.t, err)
	for _, f := range families {
		if f.GetName() == "kafka_gateway_"+name {
			return f.Metric[0].GetHistogram().GetSampleSum()
		}
	}
	return 0
}

// A span tells what the request was and how it ended.
func TestRequestsAreTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	broken := errors.New("broken")
	fail := false
	table, err := NewTable([]handler.Handler{dispatchtest.Heartbeat(
		func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			if fail {
				return nil, broken
			}
			resp := kmsg.NewPtrHeartbeatResponse()
			resp.ErrorCode = 27
			return resp, nil
		})}, nil)
	require.NoError(t, err)
	b := &bench{t: t, from: Caller{Host: "/10.0.0.7"}, reg: prometheus.NewRegistry()}
	b.Dispatcher, err = New(table, defaults, b.reg, WithTracer(tracing.New(provider)))
	require.NoError(t, err)
	_, err = b.ask(payload(kmsg.NewPtrHeartbeatRequest(), 4))
	require.NoError(t, err)
	fail = true
	b.fails(payload(kmsg.NewPtrHeartbeatRequest(), 4), HandlerFailed, broken)

	ended := spans.Ended()
	require.Len(t, ended, 2)
	got := map[string]string{}
	for _, a := range ended[0].Attributes() {
		got[string(a.Key)] = a.Value.String()
	}
	require.Equal(t, map[string]string{
		"rpc.system": "kafka", "kafka.api_key": "12", "kafka.api_version": "4", "kafka.correlation_id": "168496141",
		"messaging.client.id": "me", "client.address": "/10.0.0.7", "kafka.error_code": "REBALANCE_IN_PROGRESS",
		"kafka.request.bytes": "25", "kafka.response.bytes": "16",
	}, got)
	require.Equal(t, "Heartbeat", ended[0].Name())
	require.Equal(t, otelcodes.Unset, ended[0].Status().Code)
	require.Equal(t, otelcodes.Error, ended[1].Status().Code)
}

// What it costs to look for error codes in an answer about 1,000 partitions.
func BenchmarkErrorCodes(b *testing.B) {
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, 1)
	resp.Topics[0].Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, 1000)
	c := codesOf(resp)
	counted := tally{route: &route{metrics: mustMetrics(b)}}
	for b.Loop() {
		c.find(resp, &counted)
	}
}

// What a request costs in all, measuring included.
func BenchmarkDispatchHeartbeat(b *testing.B) {
	d := open(b, defaults, dispatchtest.Heartbeat(nil))
	request := payload(kmsg.NewPtrHeartbeatRequest(), 4)
	b.ReportAllocs()
	for b.Loop() {
		out, err := d.Dispatch(context.Background(), &d.from, request, &d.lease, &d.pool)
		if err != nil {
			b.Fatal(err)
		}
		out.Release()
	}
}
