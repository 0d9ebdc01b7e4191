package tracing

import (
	"context"

	"go.uber.org/fx"
	"go.uber.org/zap"
)

// Module provides *Tracer, nil where tracing.endpoint is not set. It asks for a
// Config and a *zap.Logger. What is in the queue is delivered when the graph
// stops.
var Module = fx.Module("tracing", fx.Provide(provide))

func provide(lc fx.Lifecycle, c Config, log *zap.Logger) (*Tracer, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	exporter, err := NewExporter(c, log)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(func(ctx context.Context) { exporter.Stop(ctx) }))
	return exporter.Tracer(), nil
}
