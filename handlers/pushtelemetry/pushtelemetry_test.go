package pushtelemetry

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/golang/snappy"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(cfg telemetry.Config) (handler.Handler, *telemetry.Store) {
	store := telemetry.New(cfg, time.Now)
	return New(store), store
}

func TestConform(t *testing.T) {
	h, _ := open(telemetry.DefaultConfig())
	handlertest.Conform(t, h)
}

func TestReadme(t *testing.T) {
	h, _ := open(telemetry.DefaultConfig())
	handlertest.Readme(t, h, "README.md")
}

func Fuzz(f *testing.F) {
	h, _ := open(telemetry.DefaultConfig())
	handlertest.Fuzz(f, h)
}

// The command "subscribe" asks for a subscription, "advance" lets time pass.
func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		now := time.UnixMilli(1_700_000_000_000)
		cfg := telemetry.DefaultConfig()
		cfg.Metrics = "org.apache.kafka.consumer., org.apache.kafka.producer."
		store := telemetry.New(cfg, func() time.Time { return now })
		return handlertest.Env{
			Handler: New(store),
			Commands: map[string]func(*testing.T, *datadriven.TestData) string{
				"subscribe": func(t *testing.T, d *datadriven.TestData) string {
					var id string
					d.ScanArgs(t, "id", &id)
					_, err := store.Subscribe(uuid.MustParse(id), "app")
					require.NoError(t, err)
					return "ok"
				},
				"advance": func(t *testing.T, d *datadriven.TestData) string {
					var by string
					d.ScanArgs(t, "by", &by)
					step, err := time.ParseDuration(by)
					require.NoError(t, err)
					now = now.Add(step)
					return "ok"
				},
			},
		}
	})
}

// otlp is a push with one gauge.
func otlp(t *testing.T, name string) []byte {
	data, err := proto.Marshal(&v1.MetricsData{ResourceMetrics: []*v1.ResourceMetrics{{ScopeMetrics: []*v1.ScopeMetrics{{Metrics: []*v1.Metric{{
		Name: name, Data: &v1.Metric_Gauge{Gauge: &v1.Gauge{DataPoints: []*v1.NumberDataPoint{{Value: &v1.NumberDataPoint_AsInt{AsInt: 5}}}}},
	}}}}}}})
	require.NoError(t, err)
	return data
}

// compressions write what the protocol's codecs read, by number.
var compressions = map[int8]func(*testing.T, []byte) []byte{
	0: func(_ *testing.T, data []byte) []byte { return data },
	1: func(t *testing.T, data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	},
	2: func(_ *testing.T, data []byte) []byte { return snappy.Encode(nil, data) },
	3: func(t *testing.T, data []byte) []byte {
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	},
	4: func(t *testing.T, data []byte) []byte {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		defer w.Close()
		return w.EncodeAll(data, nil)
	},
}

// request is the push of a client that has just subscribed.
func request(t *testing.T, store *telemetry.Store, codec int8, metrics []byte) *kmsg.PushTelemetryRequest {
	sub, err := store.Subscribe(uuid.Nil, "app")
	require.NoError(t, err)
	return &kmsg.PushTelemetryRequest{ClientInstanceID: sub.Client, SubscriptionID: sub.ID, CompressionType: codec, Metrics: metrics}
}

func code(t *testing.T, h handler.Handler, req *kmsg.PushTelemetryRequest) int16 {
	t.Helper()
	resp, err := h.Handle(t.Context(), handler.Call{ClientID: "app"}, req)
	require.NoError(t, err)
	return resp.(*kmsg.PushTelemetryResponse).ErrorCode
}

// A push arrives under every codec.
func TestCodecs(t *testing.T) {
	t.Parallel()
	cfg := telemetry.DefaultConfig()
	cfg.Metrics = "*"
	h, store := open(cfg)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(store))
	for codec, compress := range compressions {
		require.Zero(t, code(t, h, request(t, store, codec, compress(t, otlp(t, "gauge"+string('0'+rune(codec)))))), codec)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	require.Equal(t, []string{"kafka_client_gauge0", "kafka_client_gauge1", "kafka_client_gauge2", "kafka_client_gauge3", "kafka_client_gauge4"}, names[:5])
}

// A small push that decompresses to very much is refused at the limit.
func TestBombs(t *testing.T) {
	t.Parallel()
	cfg := telemetry.DefaultConfig()
	cfg.MaxBytes = 64 << 10
	h, store := open(cfg)
	limit := expansion * int(cfg.MaxBytes)
	for codec, compress := range compressions {
		if codec == 0 {
			continue
		}
		bomb := compress(t, make([]byte, limit+1))
		require.Less(t, len(bomb), int(cfg.MaxBytes))
		require.Equal(t, int16(118), code(t, h, request(t, store, codec, bomb)), codec)
	}
	require.Equal(t, int16(118), code(t, h, request(t, store, 0, make([]byte, cfg.MaxBytes+1))))
}

// A spent budget, or a client that went away, closes the connection.
func TestClose(t *testing.T) {
	t.Parallel()
	h, store := open(telemetry.DefaultConfig())
	handlertest.Spent(t, h, request(t, store, 1, compressions[1](t, otlp(t, "g"))))
	handlertest.Gone(t, h, request(t, store, 1, compressions[1](t, otlp(t, "g"))))
}

// Clients are told of the key only when they are to push something.
func TestHidden(t *testing.T) {
	t.Parallel()
	h, _ := open(telemetry.DefaultConfig())
	require.True(t, h.Spec().Hidden)
	cfg := telemetry.DefaultConfig()
	cfg.Metrics = "*"
	h, _ = open(cfg)
	require.False(t, h.Spec().Hidden)
}
