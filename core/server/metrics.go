package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the server counts.
type metrics struct {
	accepted prometheus.Counter
	refused  prometheus.Counter
	closed   *prometheus.CounterVec
	received prometheus.Counter
	sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, open func() int) (*metrics, error) {
	const ns = "kafka_gateway"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help})
	}
	m := &metrics{
		accepted: counter("connections_accepted_total", "Connections that were accepted."),
		refused:  counter("connections_refused_total", "Connections closed at once because max_connections were open."),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Name: "connections_closed_total", Help: "Connections that ended, by reason.",
		}, []string{"reason"}),
		received: counter("received_bytes_total", "Bytes of requests."),
		sent:     counter("sent_bytes_total", "Bytes of answers."),
	}
	if reg == nil {
		return m, nil
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: ns, Name: "connections", Help: "Open connections.",
	}, func() float64 { return float64(open()) })
	var errs []error
	for _, c := range []prometheus.Collector{m.accepted, m.refused, m.closed, m.received, m.sent, gauge} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}
