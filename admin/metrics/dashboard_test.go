package metrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// dashboard is what the test reads of a dashboard of Grafana.
type dashboard struct {
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name, Type, Definition string
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID         int    `json:"id"`
		Type       string `json:"type"`
		Title      string `json:"title"`
		Datasource struct{ UID string }
		GridPos    struct{ H, W, X, Y int }
		Targets    []struct{ Expr, LegendFormat string }
	} `json:"panels"`
}

var (
	selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{(\w+)\}\}`)
	ours     = regexp.MustCompile(`\bkafka_gateway_\w+`)
)

// Every metric and every label that the dashboard asks for is one that a gateway
// shows: one with the embedded store, one that strangers have tried, or one with Iggy.
func TestDashboard(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/grafana/kafka-gateway.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(raw, &d))
	shown := known(t)
	seen := map[int]bool{}
	for _, p := range d.Panels {
		require.False(t, seen[p.ID], "two panels have the id %d", p.ID)
		seen[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		if p.Type == "row" {
			continue
		}
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			checkExpr(t, p.Title, target.Expr, target.LegendFormat, shown)
		}
	}
	names := map[string]string{}
	for _, v := range d.Templating.List {
		names[v.Name] = v.Type
		for _, name := range ours.FindAllString(v.Definition, -1) {
			require.True(t, shown[name] != nil, name)
		}
	}
	require.Equal(t, map[string]string{"datasource": "datasource", "instance": "query"}, names)
}

// checkExpr checks one query: its metrics, the labels that it selects and groups
// by, and those in its legend.
func checkExpr(t *testing.T, panel, expr, text string, shown map[string]map[string]bool) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expr, -1)
	require.NotEmpty(t, found, "%s: %s", panel, expr)
	labels := map[string]bool{"instance": true}
	for _, s := range found {
		require.True(t, shown[s[1]] != nil, "%s: no gateway shows %s", panel, s[1])
		maps.Copy(labels, shown[s[1]])
		require.Contains(t, s[2], `instance=~"$instance"`, "%s: %s", panel, expr)
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			require.Contains(t, labels, m[1], "%s: %s", panel, expr)
		}
	}
	require.Len(t, ours.FindAllString(expr, -1), strings.Count(expr, "kafka_gateway_"))
	for _, name := range ours.FindAllString(expr, -1) {
		require.True(t, shown[name] != nil, "%s: no gateway shows %s", panel, name)
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			require.Contains(t, labels, strings.TrimSpace(label), "%s: %s", panel, expr)
		}
	}
	for _, l := range legend.FindAllStringSubmatch(text, -1) {
		require.Contains(t, labels, l[1], "%s: %s", panel, text)
	}
}

// known returns the names that gateways show, with the labels of each.
func known(t *testing.T) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	var url string
	addr := gatewaytest.Start(t, gatewaytest.Admin(&url), gatewaytest.Iggy(iggytest.StandIn(t).Address(), "orders"))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("one")}).FirstErr())
	for _, url := range []string{busy(t), guarded(t), url} {
		for name, f := range scrape(t, url) {
			for _, sample := range samplesOf(name, f) {
				if out[sample] == nil {
					out[sample] = map[string]bool{}
				}
				for _, m := range f.Metric {
					for _, l := range m.Label {
						out[sample][l.GetName()] = true
					}
				}
				if strings.HasSuffix(sample, "_bucket") {
					out[sample]["le"] = true
				}
			}
		}
	}
	return out
}

// samplesOf returns the names of a metric's samples.
func samplesOf(name string, f *dto.MetricFamily) []string {
	if f.GetType() == dto.MetricType_HISTOGRAM {
		return []string{name + "_bucket", name + "_sum", name + "_count"}
	}
	return []string{name}
}

// docs/operations.md tells what every metric means, and of none that is not there.
func TestEveryMetricIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	iggy, err := os.ReadFile("../../docs/iggy.md")
	require.NoError(t, err)
	var missing []string
	families := scrape(t, busy(t))
	for _, name := range slices.Sorted(maps.Keys(families)) {
		short, ofGateway := strings.CutPrefix(name, "kafka_gateway_")
		switch {
		case !ofGateway:
		case strings.HasPrefix(short, "iggy_"):
			require.Contains(t, string(iggy), "`"+strings.TrimPrefix(short, "iggy_")+"`")
		case !strings.Contains(string(page), "`"+short+"`"):
			missing = append(missing, short)
		}
	}
	require.Empty(t, missing, "docs/operations.md does not name them")
}
