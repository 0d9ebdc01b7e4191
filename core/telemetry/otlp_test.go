package telemetry

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

func str(v string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}
}

func attribute(key string, value *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: value}
}

func number(v float64, attributes ...*common.KeyValue) *otlp.NumberDataPoint {
	return &otlp.NumberDataPoint{Value: &otlp.NumberDataPoint_AsDouble{AsDouble: v}, Attributes: attributes, TimeUnixNano: 7, StartTimeUnixNano: 3}
}

func gauge(name string, points ...*otlp.NumberDataPoint) *otlp.Metric {
	return &otlp.Metric{Name: name, Data: &otlp.Metric_Gauge{Gauge: &otlp.Gauge{DataPoints: points}}}
}

func sum(name string, monotonic bool, temporality otlp.AggregationTemporality, points ...*otlp.NumberDataPoint) *otlp.Metric {
	return &otlp.Metric{Name: name, Description: "d", Unit: "1", Data: &otlp.Metric_Sum{Sum: &otlp.Sum{
		DataPoints: points, IsMonotonic: monotonic, AggregationTemporality: temporality,
	}}}
}

const (
	cumulative = otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	delta      = otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
)

// encode is what a client pushes.
func encode(t testing.TB, metrics ...*otlp.Metric) []byte {
	data, err := proto.Marshal(&otlp.MetricsData{ResourceMetrics: []*otlp.ResourceMetrics{{
		ScopeMetrics: []*otlp.ScopeMetrics{{Metrics: metrics, Scope: &common.InstrumentationScope{Name: "scope"}}},
	}}})
	require.NoError(t, err)
	return data
}

// texts reads data and writes each point as a line.
func texts(t *testing.T, data []byte) []string {
	t.Helper()
	var lines []string
	require.NoError(t, readMetrics(data, func(p *point) {
		labels, values, ok := labelsOf(p.attributes)
		lines = append(lines, fmt.Sprint(p.name, " ", p.kind, " ", p.delta, p.monotonic, " ", p.value, p.count, p.sum, " ", labels, values, ok))
	}))
	return lines
}

// What the library writes is read, kind by kind.
func TestReadMetrics(t *testing.T) {
	t.Parallel()
	histogram := &otlp.HistogramDataPoint{Count: 3, Sum: proto.Float64(1.5), BucketCounts: []uint64{1, 2}, ExplicitBounds: []float64{1}, Attributes: []*common.KeyValue{attribute("a", str("h"))}}
	exponential := &otlp.ExponentialHistogramDataPoint{Count: 4, Sum: proto.Float64(2.5), Attributes: []*common.KeyValue{attribute("a", str("e"))}}
	summary := &otlp.SummaryDataPoint{Count: 5, Sum: 3.5, Attributes: []*common.KeyValue{attribute("a", str("s"))}}
	got := texts(t, encode(t,
		gauge("g", number(1, attribute("b", str("x")), attribute("a", str("y"))), number(math.Inf(1))),
		gauge("int", &otlp.NumberDataPoint{Value: &otlp.NumberDataPoint_AsInt{AsInt: -7}}),
		gauge("none", &otlp.NumberDataPoint{}, &otlp.NumberDataPoint{Flags: 1, Value: &otlp.NumberDataPoint_AsInt{AsInt: 1}}),
		sum("c", true, cumulative, number(2)),
		sum("d", true, delta, number(3)),
		sum("u", false, cumulative, number(4)),
		&otlp.Metric{Name: "h", Data: &otlp.Metric_Histogram{Histogram: &otlp.Histogram{AggregationTemporality: delta, DataPoints: []*otlp.HistogramDataPoint{histogram}}}},
		&otlp.Metric{Name: "e", Data: &otlp.Metric_ExponentialHistogram{ExponentialHistogram: &otlp.ExponentialHistogram{AggregationTemporality: cumulative, DataPoints: []*otlp.ExponentialHistogramDataPoint{exponential}}}},
		&otlp.Metric{Name: "s", Data: &otlp.Metric_Summary{Summary: &otlp.Summary{DataPoints: []*otlp.SummaryDataPoint{summary}}}},
		&otlp.Metric{Name: "empty"},
	))
	require.Equal(t, []string{
		"g 5 false false 1 0 0 [a b] [y x] true",
		"g 5 false false +Inf 0 0 [] [] true",
		"int 5 false false -7 0 0 [] [] true",
		"c 7 false true 2 0 0 [] [] true",
		"d 7 true true 3 0 0 [] [] true",
		"u 7 false false 4 0 0 [] [] true",
		"h 9 true false 0 3 1.5 [a] [h] true",
		"e 10 false false 0 4 2.5 [a] [e] true",
		"s 11 false false 0 5 3.5 [a] [s] true",
	}, got)
}

// What attributes become, or that they are refused.
func TestLabels(t *testing.T) {
	t.Parallel()
	long := string(slices.Repeat([]byte("x"), 300))
	values := map[string]*common.AnyValue{
		`[a] ["text"]`:  str("text"),
		`[a] [""]`:      str(""),
		`[a] ["true"]`:  {Value: &common.AnyValue_BoolValue{BoolValue: true}},
		`[a] ["-5"]`:    {Value: &common.AnyValue_IntValue{IntValue: -5}},
		`[a] ["0.5"]`:   {Value: &common.AnyValue_DoubleValue{DoubleValue: .5}},
		`refused`:       {Value: &common.AnyValue_BytesValue{BytesValue: []byte("b")}},
		`refused array`: {Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{}}},
		`refused none`:  {},
		fmt.Sprintf(`[a] [%q]`, long[:maxLabelValue]): str(long),
	}
	for want, value := range values {
		raw, err := proto.Marshal(attribute("a", value))
		require.NoError(t, err)
		labels, got, ok := labelsOf([][]byte{raw})
		if want[0] == 'r' {
			require.False(t, ok, want)
			continue
		}
		require.Equal(t, want, fmt.Sprintf("%v %q", labels, got))
		require.True(t, ok)
	}
	names := map[string]string{
		"client.id": "", "client_instance_id": "", "node.id": "node_id", "9": "label_9", "__name__": "label___name__", "größe": "gr__e", "a:b": "a_b", "9é": "label_9_",
	}
	for name, want := range names {
		raw, err := proto.Marshal(attribute(name, str("v")))
		require.NoError(t, err)
		labels, _, ok := labelsOf([][]byte{raw})
		require.True(t, ok)
		if want == "" {
			require.Empty(t, labels, name)
		} else {
			require.Equal(t, []string{want}, labels, name)
		}
	}
	for _, name := range []string{"", long} {
		raw, err := proto.Marshal(attribute(name, str("v")))
		require.NoError(t, err)
		_, _, ok := labelsOf([][]byte{raw})
		require.False(t, ok, name)
	}
	_, _, ok := labelsOf(make([][]byte, maxLabels+1))
	require.False(t, ok)
	_, _, ok = labelsOf([][]byte{{0xff}})
	require.False(t, ok)
	require.Equal(t, "a�", labelValue("aé", 2))
}

func TestReadInvalid(t *testing.T) {
	t.Parallel()
	whole := encode(t, gauge("g", number(1, attribute("a", str("v")))), sum("s", true, delta, number(1)))
	for n := 1; n < len(whole); n++ {
		require.ErrorIs(t, readMetrics(whole[:n], func(*point) {}), ErrInvalid, "%d bytes", n)
	}
	require.ErrorIs(t, readMetrics([]byte("garbage"), func(*point) {}), ErrInvalid)
	require.NoError(t, readMetrics(append(whole, 0x9b, 0x06, 0x9c, 0x06), func(*point) {}), "an unknown group is passed over")
}

// What the library refuses is refused, and no data make the reader panic or take
// much memory.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, gauge("g", number(1, attribute("a", str("v")))), sum("s", true, delta, number(1))))
	f.Add([]byte{0x0a, 0x00, 0x0a, 0x02, 0x12, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		points := 0
		err := readMetrics(data, func(p *point) {
			points++
			labelsOf(p.attributes)
		})
		require.LessOrEqual(t, points, len(data))
		var m otlp.MetricsData
		if proto.Unmarshal(data, &m) == nil && err != nil {
			t.Fatalf("the library reads %x, and %v", data, err)
		}
	})
}

var histogram = otlp.Metric{Name: "wait", Data: &otlp.Metric_Histogram{Histogram: &otlp.Histogram{
	AggregationTemporality: cumulative, DataPoints: []*otlp.HistogramDataPoint{{Count: 3, Sum: proto.Float64(1.5)}},
}}}
