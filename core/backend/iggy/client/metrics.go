package client

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// operation is what a request asks the server for, as metrics name it.
type operation string

const (
	opSend             operation = "send"
	opPoll             operation = "poll"
	opPing             operation = "ping"
	opGetStats         operation = "get_stats"
	opGetClients       operation = "get_clients"
	opGetStream        operation = "get_stream"
	opGetTopics        operation = "get_topics"
	opGetTopic         operation = "get_topic"
	opCreateStream     operation = "create_stream"
	opCreateTopic      operation = "create_topic"
	opCreatePartitions operation = "create_partitions"
	opUpdateTopic      operation = "update_topic"
	opDeleteTopic      operation = "delete_topic"
	opGetUser          operation = "get_user"
	opGetUsers         operation = "get_users"
	opCheckPassword    operation = "check_password"
)

var operations = []operation{
	opSend, opPoll, opPing, opGetStats, opGetClients, opGetStream, opGetTopics, opGetTopic,
	opCreateStream, opCreateTopic, opCreatePartitions, opUpdateTopic, opDeleteTopic,
	opGetUser, opGetUsers, opCheckPassword,
}

// metrics are what the client counts. The names begin with kafka_gateway_iggy_.
type metrics struct {
	timeouts, lost prometheus.Counter
	inFlight       prometheus.Gauge
	redials        *prometheus.CounterVec // by lane
	durations      map[operation]prometheus.Observer
	registered     prometheus.Registerer
	all            []prometheus.Collector
}

const ns, sub = "kafka_gateway", "iggy"

func newMetrics(reg prometheus.Registerer, c *Client) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
	}
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: ns, Subsystem: sub, Name: "request_duration_seconds",
		Help:    "How long the Iggy server took for a request, from when a connection had time for it; those without an answer included.",
		Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5},
	}, []string{"operation"})
	m := &metrics{
		redials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: ns, Subsystem: sub, Name: "redials_total", Help: "Attempts to replace a connection to the Iggy server.",
		}, []string{"lane"}),
		timeouts: counter("timeouts_total", "Requests that the Iggy server did not answer in time."),
		lost:     counter("lost_requests_total", "Changes whose outcome was unknown because the reply did not come."),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: ns, Subsystem: sub, Name: "in_flight", Help: "Requests that the Iggy server has not answered yet.",
		}),
		durations: map[operation]prometheus.Observer{},
	}
	for _, op := range operations {
		m.durations[op] = durations.WithLabelValues(string(op))
	}
	up := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: ns, Subsystem: sub, Name: "up", Help: "1 while the Iggy server answers, 0 while it does not.",
	}, func() float64 {
		if c.Up() {
			return 1
		}
		return 0
	})
	m.all = append([]prometheus.Collector{m.redials, m.timeouts, m.lost, m.inFlight, up, durations}, m.ofLanes(c)...)
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

// ofLanes are the metrics that each lane has: what the connections are for.
func (m *metrics) ofLanes(c *Client) (all []prometheus.Collector) {
	for _, l := range c.lanes() {
		m.redials.WithLabelValues(l.name)
		gauge := func(name, help string, value func() float64) {
			all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Namespace: ns, Subsystem: sub, Name: name, Help: help, ConstLabels: prometheus.Labels{"lane": l.name},
			}, value))
		}
		gauge("connections", "Connections to the Iggy server that are logged in.", func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(l.up)
		})
		gauge("connections_busy", "Connections to the Iggy server with a request on its way.", func() float64 {
			return float64(l.busy.Load())
		})
	}
	return all
}

// took notes how long a request took.
func (m *metrics) took(op operation, d time.Duration) { m.durations[op].Observe(d.Seconds()) }

func (m *metrics) unregister() {
	if m.registered == nil {
		return
	}
	for _, collector := range m.all {
		m.registered.Unregister(collector)
	}
}
