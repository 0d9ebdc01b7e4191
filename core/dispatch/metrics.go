package dispatch

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metrics are what the dispatcher counts. The parts that differ by key are
// looked up once a key, not once a request.
type metrics struct {
	duration    *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	unknownKey  prometheus.Counter
	unsupported *prometheus.CounterVec
	badRequest  *prometheus.CounterVec
	panics      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const ns = "kafka_gateway"
	api := []string{"api"}
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: ns, Name: "request_duration_seconds",
			Help:    "Time from a whole request to its encoded answer, waiting calls included, by API.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30},
		}, api),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: ns, Name: "requests_in_flight",
			Help: "Requests in work, waiting calls included.",
		}),
		unknownKey: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: ns, Name: "unknown_key_requests_total",
			Help: "Requests whose API key no handler serves; each closed its connection.",
		}),
		unsupported: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Name: "unsupported_version_requests_total",
			Help: "Requests of a version outside the served range, by API.",
		}, api),
		badRequest: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Name: "bad_requests_total",
			Help: "Requests whose body was refused before a handler saw it, by API.",
		}, api),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: ns, Name: "handler_panics_total",
			Help: "Panics of handlers; each closed its connection.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.duration, m.inFlight, m.unknownKey, m.unsupported, m.badRequest, m.panics,
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// route is an entry of the table with the metrics of its key.
type route struct {
	entry
	duration    prometheus.Observer
	unsupported prometheus.Counter
	badRequest  prometheus.Counter
}

func (m *metrics) route(e entry) *route {
	name := kmsg.NameForKey(e.spec.Key)
	return &route{
		entry:       e,
		duration:    m.duration.WithLabelValues(name),
		unsupported: m.unsupported.WithLabelValues(name),
		badRequest:  m.badRequest.WithLabelValues(name),
	}
}
