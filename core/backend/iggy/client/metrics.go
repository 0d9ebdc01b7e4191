package client

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the client counts.
type metrics struct {
	redials, timeouts, lost prometheus.Counter
	inFlight                prometheus.Gauge
	registered              prometheus.Registerer
	all                     []prometheus.Collector
}

func newMetrics(reg prometheus.Registerer, c *Client) (*metrics, error) {
	const ns, sub = "kafka_gateway", "iggy"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
	}
	m := &metrics{
		redials:  counter("redials_total", "Attempts to replace a connection to the Iggy server."),
		timeouts: counter("timeouts_total", "Requests that the Iggy server did not answer in time."),
		lost:     counter("lost_requests_total", "Changes whose outcome was unknown because the reply did not come."),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: ns, Subsystem: sub, Name: "in_flight", Help: "Requests that the Iggy server has not answered yet.",
		}),
	}
	up := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: ns, Subsystem: sub, Name: "up", Help: "1 while the Iggy server answers, 0 while it does not.",
	}, func() float64 {
		if c.Up() {
			return 1
		}
		return 0
	})
	m.all = []prometheus.Collector{m.redials, m.timeouts, m.lost, m.inFlight, up}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, collector := range m.all {
		errs = append(errs, reg.Register(collector))
	}
	m.registered = reg
	return m, errors.Join(errs...)
}

func (m *metrics) unregister() {
	if m.registered == nil {
		return
	}
	for _, collector := range m.all {
		m.registered.Unregister(collector)
	}
}
