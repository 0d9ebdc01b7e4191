package iggy

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Module provides the Iggy backend, as it is and as a backend.Backend. It asks for Config, *topicconfig.Catalog and
// *zap.Logger; it connects when the graph starts and lets go when the graph stops.
// Metrics are registered where a prometheus.Registerer is provided. When another
// gateway takes the internal stream over, it ends the program with exit code 1.
// Options may be provided to set what Config does not.
var Module = fx.Module("iggy", fx.Provide(Provide, func(s *Store) backend.Backend { return s }))

// Params is what the module asks for.
type Params struct {
	fx.In
	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Config     Config
	Catalog    *topicconfig.Catalog
	Log        *zap.Logger
	Metrics    prometheus.Registerer `optional:"true"`
	Options    Options               `optional:"true"`
}

// Provide is Module's constructor.
func Provide(p Params) *Store {
	opts := p.Options
	if opts.Log == nil {
		opts.Log = p.Log.Named("iggy")
	}
	if opts.Metrics == nil {
		opts.Metrics = p.Metrics
	}
	if opts.OnLost == nil {
		opts.OnLost = func(error) { _ = p.Shutdowner.Shutdown(fx.ExitCode(1)) }
	}
	s := New(p.Config, p.Catalog, opts)
	p.Lifecycle.Append(fx.StartStopHook(s.Start, s.Close))
	return s
}
