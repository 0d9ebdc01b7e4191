package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggykafka/gateway/core/guard"
)

// metrics are what the server counts.
type metrics struct {
	accepted  prometheus.Counter
	refused   *prometheus.CounterVec
	suspected prometheus.Counter
	delayed   prometheus.Counter
	closed    *prometheus.CounterVec
	received  prometheus.Counter
	sent      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, s *Server) (*metrics, error) {
	const ns = "kafka_gateway"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help})
	}
	m := &metrics{
		accepted: counter("connections_accepted_total", "Connections that were accepted."),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Name: "connections_refused_total", Help: "Connections closed at once because of a limit, by the limit.",
		}, []string{"reason"}),
		suspected: counter("suspect_handshakes_total", "Turns of handshakes taken in the lane of addresses whose handshakes mostly come to nothing."),
		delayed:   counter("connections_delayed_total", "Connections that waited because of connection_rate."),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Name: "connections_closed_total", Help: "Connections that ended, by reason.",
		}, []string{"reason"}),
		received: counter("received_bytes_total", "Bytes of requests, those included that no handler saw."),
		sent:     counter("sent_bytes_total", "Bytes of answers."),
	}
	// A counter that begins with its first event has no rate for it, and alerts do not see it.
	for _, limit := range []error{errFull, errListenerFull, errAddressFull, errAddressRate} {
		m.refused.WithLabelValues(limit.Error())
	}
	if reg == nil {
		return m, nil
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: ns, Name: "connections", Help: "Open connections.",
	}, func() float64 { return float64(s.connections()) })
	var errs []error
	all := append([]prometheus.Collector{m.accepted, m.refused, m.suspected, m.delayed, m.closed, m.received, m.sent, gauge}, ofBudget(s.budget.Stats)...)
	all = append(all, ofListeners{s})
	for _, c := range all {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// ofBudget shows the memory that requests in work hold together.
func ofBudget(stats func() guard.Stats) []prometheus.Collector {
	const ns, sub = "kafka_gateway", "memory_budget"
	gauge := func(name, help string, value func(guard.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help},
			func() float64 { return value(stats()) })
	}
	counter := func(name, help string, value func(guard.Stats) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help},
			func() float64 { return value(stats()) })
	}
	return []prometheus.Collector{
		gauge("bytes", "What requests in work may hold together: memory_budget.",
			func(s guard.Stats) float64 { return float64(s.Total) }),
		gauge("used_bytes", "What requests in work hold of it.",
			func(s guard.Stats) float64 { return float64(s.Used) }),
		counter("waits_total", "Reservations that found the budget spent and waited.",
			func(s guard.Stats) float64 { return float64(s.Waits) }),
		counter("wait_seconds_total", "Time that they waited, together.",
			func(s guard.Stats) float64 { return s.Waited.Seconds() }),
		counter("refusals_total", "Reservations that got nothing; each closed its connection.",
			func(s guard.Stats) float64 { return float64(s.Refused) }),
	}
}

// ofListeners shows the open connections of each listener.
type ofListeners struct{ s *Server }

var listenerConnections = prometheus.NewDesc("kafka_gateway_listener_connections",
	"Open connections, by listener.", []string{"listener"}, nil)

// Describe implements prometheus.Collector.
func (o ofListeners) Describe(to chan<- *prometheus.Desc) { to <- listenerConnections }

// Collect implements prometheus.Collector.
func (o ofListeners) Collect(to chan<- prometheus.Metric) {
	open := make([]int, len(o.s.listeners))
	o.s.mu.Lock()
	for i, l := range o.s.listeners {
		open[i] = l.places
	}
	o.s.mu.Unlock()
	for i, l := range o.s.listeners {
		to <- prometheus.MustNewConstMetric(listenerConnections, prometheus.GaugeValue, float64(open[i]), l.cfg.Name)
	}
}
