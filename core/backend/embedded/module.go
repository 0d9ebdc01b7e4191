package embedded

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Module provides the embedded store as the backend. It asks for Config,
// *topicconfig.Catalog and *zap.Logger; it opens the store when the graph
// starts and closes it when the graph stops. Options may be provided to set
// what Config does not.
var Module = fx.Module("embedded", fx.Provide(func(p params) backend.Backend {
	return provide(p, p.Options)
}))

// MemoryModule provides the same store over files in memory, for tests and
// demos. Nothing outlives the process, and Config.Dir is not looked at.
var MemoryModule = fx.Module("memory", fx.Provide(func(p params) backend.Backend {
	opts := p.Options
	if opts.FS == nil {
		opts.FS = vfs.NewMem()
	}
	p.Config.Dir = "/memory"
	return provide(p, opts)
}))

type params struct {
	fx.In
	Lifecycle fx.Lifecycle
	Config    Config
	Catalog   *topicconfig.Catalog
	Log       *zap.Logger
	Options   Options `optional:"true"`
}

func provide(p params, opts Options) backend.Backend {
	if opts.Log == nil {
		opts.Log = p.Log.Named("storage")
	}
	s := New(p.Config, p.Catalog, opts)
	p.Lifecycle.Append(fx.StartStopHook(s.Start, s.Close))
	return s
}
