package ssl

import (
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are about the files, by that of the certificate, and about handshakes.
type metrics struct {
	expires       *prometheus.GaugeVec
	reloads       *prometheus.CounterVec
	reloadFailing *prometheus.GaugeVec
	handshakes    *prometheus.CounterVec

	mu     sync.Mutex
	broken map[string]map[*source]bool // those that cannot be used as they are, by certificate
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const file = "certificate"
	name := func(n string) string { return "kafka_gateway_tls_" + n }
	m := &metrics{
		broken: map[string]map[*source]bool{},
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

// inUse notes what the files of a source hold. All series of its certificate are there from
// then on.
func (m *metrics) inUse(s *source, ends time.Time) {
	if !ends.IsZero() {
		m.expires.WithLabelValues(s.served).Set(float64(ends.Unix()))
	}
	for _, result := range results {
		m.reloads.WithLabelValues(s.served, result)
	}
	m.failed(s, false)
}

// results are those of a change, by whether it could be used.
var results = map[bool]string{true: "ok", false: "failed"}

func (m *metrics) reloaded(s *source, ok bool) {
	m.reloads.WithLabelValues(s.served, results[ok]).Inc()
}

// failed notes whether the files of a source cannot be used. Other sources have the same
// certificate, or other authorities with it.
func (m *metrics) failed(s *source, failing bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	broken := m.broken[s.served]
	if broken == nil {
		broken = map[*source]bool{}
		m.broken[s.served] = broken
	}
	delete(broken, s)
	if failing {
		broken[s] = true
	}
	m.reloadFailing.WithLabelValues(s.served).Set(float64(min(len(broken), 1)))
}

// forget notes that a source is not used any more; the certificate itself is the last one.
func (m *metrics) forget(s *source) {
	m.failed(s, false)
	if s.certificate.value == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.broken, s.served)
	m.expires.DeleteLabelValues(s.served)
	m.reloadFailing.DeleteLabelValues(s.served)
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
