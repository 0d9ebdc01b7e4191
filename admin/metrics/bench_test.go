package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What a scrape of 10,000 series of lag costs: the page alone, as all scrapes
// within metrics.lag_interval cost it, and with a look at the store.
func BenchmarkScrapeLag(b *testing.B) {
	for _, interval := range []time.Duration{time.Hour, time.Nanosecond} {
		b.Run(fmt.Sprint(interval), func(b *testing.B) {
			f := newFake()
			for i := range 5000 {
				f.commit(fmt.Sprintf("group-%04d", i), 1, 2)
			}
			r := prometheus.NewRegistry()
			s := opened(f, Config{LagSeriesMax: 10_000, LagInterval: interval})
			r.MustRegister(s)
			h := handler(r, s)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
			}
		})
	}
}
