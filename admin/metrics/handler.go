// Package metrics serves what the gateway measures, for Prometheus, and measures
// what nobody counts in passing: groups, and how far consumers lag behind.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// scrapesAtOnce is how many scrapes of one format may run together: more get 503.
const scrapesAtOnce = 4

// readPatience is how long a scraper may take to read its page. A slow one holds
// a place that others want.
const readPatience = 10 * time.Second

// handler serves what a registry gathers and the lags of its last look. Scrapes,
// and what fails in them, are counted in the registry. A metric that cannot be
// collected is left out: the others are served. Nothing is compressed, which would
// cost more than all the rest.
func handler(r *prometheus.Registry, s *stored) http.Handler {
	serve := func(g prometheus.Gatherer) http.Handler {
		return promhttp.HandlerFor(g, promhttp.HandlerOpts{
			Registry:            r,
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapesAtOnce,
			DisableCompression:  true,
		})
	}
	return timely(readPatience, promhttp.InstrumentMetricHandler(r, withLags{text: serve(r), other: serve(s.gatherer(r)), store: s}))
}

// timely ends an answer that its reader does not take in time.
func timely(patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An error says that there is no connection, as in tests: nobody is slow then.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
		next.ServeHTTP(w, r)
	})
}

// withLags serves metrics in the format that is asked for. As text, which is what
// nearly everybody asks for, lags are written once a look and not once a scrape:
// ten thousand of them are most of the page.
type withLags struct {
	text  http.Handler // without lags
	other http.Handler // with lags
	store *stored
}

func (h withLags) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...).FormatType() != expfmt.TypeTextPlain {
		h.other.ServeHTTP(w, r)
		return
	}
	seen := &status{ResponseWriter: w, code: http.StatusOK}
	h.text.ServeHTTP(seen, r)
	if seen.code == http.StatusOK {
		_, _ = w.Write(h.store.text())
	}
}

// status remembers the code of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
