package telemetry

import "github.com/prometheus/client_golang/prometheus"

// The reasons why series are left out.
const (
	reasonUnreadable = "unreadable" // names or labels that cannot be shown
	reasonLimit      = "limit"      // max_client_series or max_series
	reasonType       = "type"       // a counter for one client, a gauge for another
)

func newDropped() *prometheus.CounterVec {
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "kafka_gateway", Name: "client_telemetry_dropped_series_total",
		Help: "Series that clients pushed and that are not shown, by reason.",
	}, []string{"reason"})
	for _, reason := range []string{reasonUnreadable, reasonLimit, reasonType} {
		dropped.WithLabelValues(reason)
	}
	return dropped
}

var (
	clientsDesc = prometheus.NewDesc("kafka_gateway_client_telemetry_clients",
		"Clients that have asked which metrics to push.", nil, nil)
	seriesDesc = prometheus.NewDesc("kafka_gateway_client_telemetry_series",
		"Series that clients have pushed.", nil, nil)
)

// Describe describes nothing: which metrics there are is up to the clients.
func (s *Store) Describe(chan<- *prometheus.Desc) {}

// Collect sends the last values of every client.
func (s *Store) Collect(out chan<- prometheus.Metric) {
	for _, m := range s.shown() {
		out <- m
	}
	s.dropped.Collect(out)
}

// shown returns what there is to see, without holding the lock while it is sent.
func (s *Store) shown() []prometheus.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(s.now())
	shown := make([]prometheus.Metric, 0, s.series+2)
	for _, c := range s.clients {
		for _, one := range c.series {
			shown = append(shown, one.metric)
		}
	}
	return append(shown,
		prometheus.MustNewConstMetric(clientsDesc, prometheus.GaugeValue, float64(len(s.clients))),
		prometheus.MustNewConstMetric(seriesDesc, prometheus.GaugeValue, float64(s.series)))
}
