package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// A push of 100 series, which is what a Java client has, and a scrape of a
// hundred such clients.
func Benchmark(b *testing.B) {
	var metrics []*otlp.Metric
	for i := range 100 {
		metrics = append(metrics, gauge(fmt.Sprintf("org.apache.kafka.producer.gauge.number.%d", i), number(float64(i), attribute("topic", str("orders")))))
	}
	data := encode(b, metrics...)
	cfg := DefaultConfig()
	cfg.Metrics = "*"
	b.Run("push", func(b *testing.B) {
		s := New(cfg, time.Now)
		sub, _ := s.Subscribe(uuid.Nil, "app")
		for b.Loop() {
			_ = s.Record(sub.Client, data)
		}
	})
	b.Run("scrape", func(b *testing.B) {
		s := New(cfg, time.Now)
		for range 100 {
			sub, _ := s.Subscribe(uuid.Nil, "app")
			_ = s.Record(sub.Client, data)
		}
		for b.Loop() {
			_ = s.shown()
		}
	})
}
