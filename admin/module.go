package admin

import (
	"context"
	stdlog "log"

	"go.uber.org/fx"
	"go.uber.org/zap"
)

// Module provides *Listener and serves the routes of the graph. It asks for a
// Config and a *zap.Logger. Where it comes first in the list of modules it is
// the first to start and the last to stop, so that health can be asked for in
// between, too.
var Module = fx.Module("admin",
	fx.Provide(func(lc fx.Lifecycle, c Config, log *zap.Logger) *Listener {
		l := New(c, log)
		lc.Append(fx.StartStopHook(l.Start, l.Stop))
		return l
	}),
	// In two steps: what routes depend on starts after the listener.
	fx.Invoke(func(*Listener) {}),
	fx.Invoke(mount),
)

type routes struct {
	fx.In
	Routes []Route `group:"gateway.admin"`
}

// mount is called when everything that the routes depend on has been made, so
// its hook runs after theirs at the start, and before theirs at the end.
func mount(lc fx.Lifecycle, l *Listener, in routes) error {
	if err := l.Mount(in.Routes); err != nil {
		return err
	}
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { l.Usable(); return nil },
		OnStop:  l.Unusable,
	})
	return nil
}

// stdLog takes what net/http has to say: mostly of clients that went away.
func (l *Listener) stdLog() *stdlog.Logger {
	std, err := zap.NewStdLogAt(l.log, zap.DebugLevel)
	if err != nil { // of a level that does not exist
		return nil
	}
	return std
}
