package console

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Security is what is shown of who may connect, who clients are and what they may
// do. None of it is secret.
type Security struct {
	// Authorizer and Quotas are the names of those that decide; "" where there is none.
	Authorizer, Quotas string
	// Metrics are those of the gateway, which count what was refused.
	Metrics prometheus.Gatherer
}

type securityPage struct {
	Security
	Listeners    []shownListener
	Certificates []shownCertificate
	// Logins are those that were refused, by mechanism; Denied the operations, by
	// API; Refused the connections, by the limit.
	Logins, Denied, Refused []labelled
	// Partial says that some metrics could not be collected.
	Partial bool
}

// shownCertificate is one that listeners use. Failing says that its file was changed
// and cannot be used as it is.
type shownCertificate struct {
	File    string
	Ends    time.Time
	Failing bool
}

// labelled is one series of a metric.
type labelled struct {
	Label string
	Value float64
}

// total adds up a metric.
func total(all []labelled) (sum int64) {
	for _, c := range all {
		sum += int64(c.Value)
	}
	return sum
}

// security shows how listeners are secured, and what was refused.
func (c *Console) security(context.Context, *http.Request) (any, error) {
	p := securityPage{Security: c.Security}
	values := map[string][]*dto.Metric{}
	if c.Security.Metrics != nil {
		families, err := c.Security.Metrics.Gather()
		p.Partial = err != nil
		for _, f := range families {
			values[f.GetName()] = f.GetMetric()
		}
	}
	series := func(name string) []labelled { return seriesOf(values["kafka_gateway_"+name]) }
	connections := map[string]float64{}
	for _, l := range series("listener_connections") {
		connections[l.Label] = l.Value
	}
	for _, l := range c.Node.Listeners() {
		p.Listeners = append(p.Listeners, shownListener{
			Name: l.Name, Protocol: l.Protocol, Mechanisms: l.Mechanisms,
			Address: net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))), Connections: int64(connections[l.Name]),
		})
	}
	failing := map[string]float64{}
	for _, f := range series("tls_file_reload_failing") {
		failing[f.Label] = f.Value
	}
	for _, f := range series("tls_certificate_expires_timestamp_seconds") {
		p.Certificates = append(p.Certificates, shownCertificate{f.Label, time.Unix(int64(f.Value), 0), failing[f.Label] > 0})
	}
	p.Logins, p.Denied, p.Refused = series("refused_logins_total"), series("denied_operations_total"), series("connections_refused_total")
	return p, nil
}

// seriesOf returns the series of a metric that has one label, by its values; those
// that are zero are not left out.
func seriesOf(metrics []*dto.Metric) []labelled {
	var all []labelled
	for _, m := range metrics {
		one := labelled{Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
		for _, l := range m.GetLabel() {
			one.Label = l.GetValue()
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b labelled) int { return cmp.Compare(a.Label, b.Label) })
	return all
}
