package dispatch

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metrics are what the dispatcher counts. The parts that differ by key are
// looked up once a key, not once a request.
type metrics struct {
	requests             *prometheus.CounterVec
	duration, processing *prometheus.HistogramVec
	received, sent       *prometheus.CounterVec
	codes                *prometheus.CounterVec
	inFlight             prometheus.Gauge
	unknownKey           prometheus.Counter
	unsupported, badBody *prometheus.CounterVec
	panics               prometheus.Counter
	throttling
}

// The buckets of latencies, in seconds. Requests that wait do so for seconds;
// what is worked on is done within milliseconds.
var (
	waiting = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30}
	working = []float64{.00005, .0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5}
)

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const ns = "kafka_gateway"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help}, labels)
	}
	histograms := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: ns, Name: name, Help: help, Buckets: buckets}, []string{"api"})
	}
	m := &metrics{
		requests: counters("requests_total", "Requests of served versions that are done, by API and version.", "api", "version"),
		duration: histograms("request_duration_seconds",
			"Time from a whole request to its encoded answer, waiting included, by API. A Fetch waits for records, JoinGroup and SyncGroup for other members.", waiting),
		processing: histograms("request_processing_seconds",
			"The same time without what the request waited for records or for other members, by API.", working),
		received: counters("request_bytes_total", "Bytes of requests of served versions, by API.", "api"),
		sent:     counters("response_bytes_total", "Bytes of answers, by API.", "api"),
		codes: counters("response_errors_total",
			"Error codes in answers, by API and Kafka's name of the code: one for each place in an answer that has one.", "api", "code"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: ns, Name: "requests_in_flight", Help: "Requests in work, waiting ones included.",
		}),
		unknownKey:  counter("unknown_key_requests_total", "Requests whose API key no handler serves; each closed its connection."),
		unsupported: counters("unsupported_version_requests_total", "Requests of a version outside the served range, by API.", "api"),
		badBody:     counters("bad_requests_total", "Requests whose body the guard refused before a handler saw it, by API.", "api"),
		panics:      counter("handler_panics_total", "Panics of handlers; each closed its connection."),
		throttling:  newThrottling(counters),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.requests, m.duration, m.processing, m.received, m.sent, m.codes,
		m.inFlight, m.unknownKey, m.unsupported, m.badBody, m.panics,
		m.throttling.requests, m.throttling.seconds,
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// route is an entry of the table with the metrics of its key.
type route struct {
	entry
	name        string
	codes       codes
	metrics     *metrics
	unsupported prometheus.Counter
	badRequest  prometheus.Counter
	versions    []atomic.Pointer[prometheus.Counter] // from spec.Min on

	// What follows is made with the first request, so that a key that nobody
	// uses has no series.
	used                 sync.Once
	duration, processing prometheus.Observer
	received, sent       prometheus.Counter
}

func (m *metrics) route(e entry) *route {
	name := kmsg.NameForKey(e.spec.Key)
	return &route{
		entry:       e,
		name:        name,
		codes:       codesOf(e.NewRequest().ResponseKind()),
		metrics:     m,
		unsupported: m.unsupported.WithLabelValues(name),
		badRequest:  m.badBody.WithLabelValues(name),
		versions:    make([]atomic.Pointer[prometheus.Counter], int(e.spec.Max-e.spec.Min)+1),
	}
}

// answered measures a request that is done. No answer is nil.
func (r *route) answered(version int16, took time.Duration, q request, answer *Answer) {
	r.used.Do(func() {
		r.duration = r.metrics.duration.WithLabelValues(r.name)
		r.processing = r.metrics.processing.WithLabelValues(r.name)
		r.received = r.metrics.received.WithLabelValues(r.name)
		r.sent = r.metrics.sent.WithLabelValues(r.name)
	})
	r.ofVersion(version).Inc()
	r.duration.Observe(took.Seconds())
	r.processing.Observe((took - q.waited).Seconds())
	r.received.Add(float64(q.received))
	if answer != nil {
		r.sent.Add(float64(answer.Size()))
	}
}

// ofVersion returns the counter of a served version.
func (r *route) ofVersion(version int16) prometheus.Counter {
	known := &r.versions[version-r.spec.Min]
	if c := known.Load(); c != nil {
		return *c
	}
	c := r.metrics.requests.WithLabelValues(r.name, strconv.Itoa(int(version)))
	known.Store(&c)
	return c
}

// failed counts n places of an answer that have an error code.
func (r *route) failed(code int16, n int) {
	r.metrics.codes.WithLabelValues(r.name, codeName(code)).Add(float64(n))
}
