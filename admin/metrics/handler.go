// Package metrics serves what the gateway measures, for Prometheus, and measures
// what nobody counts in passing: groups, and how far consumers lag behind.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapesAtOnce is how many scrapes may run together: more get 503.
const scrapesAtOnce = 4

// handler serves what is gathered. Scrapes, and what fails in them, are counted in
// the registry. A metric that cannot be collected is left out: the others are
// served. Nothing is compressed, which would cost more than all the rest.
func handler(r *prometheus.Registry, g prometheus.Gatherer) http.Handler {
	return promhttp.InstrumentMetricHandler(r, promhttp.HandlerFor(g, promhttp.HandlerOpts{
		Registry:            r,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesAtOnce,
		DisableCompression:  true,
	}))
}
