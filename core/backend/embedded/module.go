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
var Module = fx.Module("embedded", fx.Provide(Provide))

// MemoryModule provides the same store over files in memory, for tests and
// demos. Nothing outlives the process, and Config.Dir is not looked at.
var MemoryModule = fx.Module("memory", fx.Provide(ProvideInMemory))

// Params is what the modules ask for.
type Params struct {
	fx.In
	Lifecycle fx.Lifecycle
	Config    Config
	Catalog   *topicconfig.Catalog
	Log       *zap.Logger
	Options   Options `optional:"true"`
}

// Provide is Module's constructor.
func Provide(p Params) backend.Backend {
	opts := p.Options
	if opts.Log == nil {
		opts.Log = p.Log.Named("storage")
	}
	s := New(p.Config, p.Catalog, opts)
	p.Lifecycle.Append(fx.StartStopHook(s.Start, s.Close))
	return s
}

// ProvideInMemory is MemoryModule's constructor.
func ProvideInMemory(p Params) backend.Backend {
	if p.Options.FS == nil {
		p.Options.FS, p.Options.Volatile = vfs.NewMem(), true
	}
	p.Config.Dir = "/memory"
	return Provide(p)
}
