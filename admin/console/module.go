package console

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/quotas"
)

// Module provides the pages, and sends whoever asks the listener for nothing in
// particular to them. It asks for the backend, the coordinator, the catalog of
// topic configs, the node, the table and the dispatcher of requests, and the
// *prometheus.Registry of the gateway.
var Module = fx.Module("console", fx.Provide(
	func() admin.Out {
		return admin.Out{Route: admin.Route{Pattern: "GET /{$}", Handler: http.RedirectHandler(Root, http.StatusFound)}}
	},
	func(
		lc fx.Lifecycle, b backend.Backend, g coordinator.Coordinator, c *topicconfig.Catalog, n *settings.Node,
		t *dispatch.Table, d *dispatch.Dispatcher, s secured,
	) (admin.Out, error) {
		m := NewMix(d, nil)
		lc.Append(running(m))
		pages, err := New(Sources{Store: b, Groups: g, Catalog: c, Node: n, APIs: t.Specs(), Mix: m, Security: s.security(), Version: version()})
		return admin.Out{Route: admin.Route{Pattern: "GET " + Root, Handler: pages}}, err
	},
))

// secured is what secures the gateway; all of it may be missing.
type secured struct {
	fx.In
	Authorization authorizer.Config `optional:"true"`
	Quotas        quotas.Config     `optional:"true"`
	Metrics       *prometheus.Registry
}

func (s secured) security() Security {
	out := Security{Metrics: s.Metrics}
	if s.Authorization.Authorizer != authorizer.None {
		out.Authorizer = s.Authorization.Authorizer
	}
	if s.Quotas.Keeper != quotas.None {
		out.Quotas = s.Quotas.Keeper
	}
	return out
}

// running looks at the counters while the gateway runs.
func running(m *Mix) fx.Hook {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	return fx.StartStopHook(
		func() {
			go func() {
				defer close(done)
				m.Run(ctx)
			}()
		},
		func() { cancel(); <-done },
	)
}

// version is that of the module this program was built from, or of its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	if v == "" || v == "(devel)" {
		return "development"
	}
	return v
}
