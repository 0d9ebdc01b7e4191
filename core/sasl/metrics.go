package sasl

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// result says in one word how a login ended. It is the value of a metric label.
type result string

const (
	succeeded   result = "success"
	refused     result = "refused"
	unavailable result = "unavailable" // nobody could tell
	left        result = "left"        // the client went away meanwhile
)

// unknownMechanism stands for all names that clients make up.
const unknownMechanism = "unknown"

// metrics are what is counted of logins.
type metrics struct {
	logins, renewals *prometheus.CounterVec
	duration         *prometheus.HistogramVec
	expired          prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const ns = "kafka_gateway"
	counters := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help}, []string{"mechanism", "result"})
	}
	m := &metrics{
		logins: counters("logins_total",
			"First logins of connections, by SASL mechanism and result: success, refused, left by the client, or unavailable when nobody could tell."),
		renewals: counters("reauthentications_total",
			"Further logins of connections that were logged in already (KIP-368), by SASL mechanism and result."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: ns, Name: "login_duration_seconds",
			Help:    "Time that the gateway took to check a login, waiting for its turn included and delays after failures not, by SASL mechanism.",
			Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"mechanism"}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: ns, Name: "expired_sessions_total",
			Help: "Connections that were closed because their login had expired (KIP-368).",
		}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.logins), reg.Register(m.renewals), reg.Register(m.duration), reg.Register(m.expired))
}

// ended counts the end of a login.
func (m *metrics) ended(mechanism string, again bool, how result, took time.Duration) {
	counter := m.logins
	if again {
		counter = m.renewals
	}
	counter.WithLabelValues(mechanism, string(how)).Inc()
	if mechanism != unknownMechanism {
		m.duration.WithLabelValues(mechanism).Observe(took.Seconds())
	}
}
