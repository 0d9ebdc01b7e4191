package console_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
)

// The page says how listeners are secured, and what was refused.
func TestSecurity(t *testing.T) {
	t.Parallel()
	page := get(t, demoSources(t), "/console/security").Body.String()
	for _, want := range []string{
		"<strong>acls</strong> <span>authorizer</span>",
		`<th scope="row">default</th><td>PLAINTEXT</td><td><span class="quiet">none</span></td>`,
		`<th scope="row">external</th><td>SASL_SSL</td><td>OAUTHBEARER, SCRAM-SHA-512</td><td><code>kafka.example.com:9093</code></td><td class="number">214</td>`,
		"/etc/kafka-gateway/tls.crt", "(1 month from now)",
		"<strong>135</strong> <span>logins refused</span>", "<strong>20</strong> <span>operations denied</span>",
		"<dt>connection_creation_rate</dt><dd>57</dd>",
	} {
		require.Contains(t, page, want)
	}
	for _, not := range []string{"max_connections<", "cannot be used", "Whoever connects", "could not be collected"} {
		require.NotContains(t, page, not)
	}
}

// A gateway that nothing secures says so, and one whose metrics fail shows the rest.
func TestNoSecurity(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	s.Security = console.Security{}
	page := get(t, s, "/console/security").Body.String()
	require.Contains(t, page, "Whoever connects may do everything")
	require.Contains(t, page, `<th scope="row">external</th>`)

	s.Security.Metrics = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("no") })
	require.Contains(t, get(t, s, "/console/security").Body.String(), "could not be collected")
}
