package ssl

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are about the files, by that of the certificate, and about handshakes.
type metrics struct {
	expires       *prometheus.GaugeVec
	reloads       *prometheus.CounterVec
	reloadFailing *prometheus.GaugeVec
	handshakes    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const file = "certificate"
	name := func(n string) string { return "kafka_gateway_tls_" + n }
	m := &metrics{
		expires: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name("certificate_expires_timestamp_seconds"),
			Help: "When the certificate in use ends, or one of its chain that ends earlier, as Unix time."}, []string{file}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("file_reloads_total"),
			Help: "Changes of the TLS files, by whether they could be used: ok or failed."}, []string{file, "result"}),
		reloadFailing: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name("file_reload_failing"),
			Help: "1 while the TLS files cannot be used as they are, and those before stay in use."}, []string{file}),
		handshakes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("handshakes_total"),
			Help: "TLS handshakes, by version and result: full, resumed or failed (of no version)."}, []string{"version", "result"}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.expires), reg.Register(m.reloads), reg.Register(m.reloadFailing), reg.Register(m.handshakes))
}

func (m *metrics) inUse(file string, ends time.Time) {
	m.expires.WithLabelValues(file).Set(float64(ends.Unix()))
	m.failed(file, false)
}

func (m *metrics) failed(file string, failing bool) {
	value := 0.0
	if failing {
		value = 1
	}
	m.reloadFailing.WithLabelValues(file).Set(value)
}

func (m *metrics) forget(file string) {
	m.expires.DeleteLabelValues(file)
	m.reloadFailing.DeleteLabelValues(file)
}

func (m *metrics) handshake(state *tls.ConnectionState) {
	switch {
	case state == nil:
		m.handshakes.WithLabelValues("", "failed").Inc()
	case state.DidResume:
		m.handshakes.WithLabelValues(tls.VersionName(state.Version), "resumed").Inc()
	default:
		m.handshakes.WithLabelValues(tls.VersionName(state.Version), "full").Inc()
	}
}
