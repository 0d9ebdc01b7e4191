package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggykafka/gateway/core/guard"
)

// metrics are what the server counts.
type metrics struct {
	accepted prometheus.Counter
	refused  prometheus.Counter
	closed   *prometheus.CounterVec
	received prometheus.Counter
	sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, open func() int, budget func() guard.Stats) (*metrics, error) {
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
		received: counter("received_bytes_total", "Bytes of requests, those included that no handler saw."),
		sent:     counter("sent_bytes_total", "Bytes of answers."),
	}
	if reg == nil {
		return m, nil
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: ns, Name: "connections", Help: "Open connections.",
	}, func() float64 { return float64(open()) })
	var errs []error
	all := append([]prometheus.Collector{m.accepted, m.refused, m.closed, m.received, m.sent, gauge}, ofBudget(budget)...)
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
