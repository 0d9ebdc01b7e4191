package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/fx"
	"go.uber.org/zap"
)

// newRegistry returns a registry of this process's own metrics; modules add
// theirs. Each gateway has its own, so that a test can run many.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

// serveMetrics serves /metrics while the gateway runs, if an address is
// configured.
func serveMetrics(c Metrics, registry *prometheus.Registry, log *zap.Logger, life fx.Lifecycle) {
	if c.Listen == "" {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	done := make(chan struct{})
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
			if err != nil {
				return fmt.Errorf("metrics.listen: %w; free the address or set another one", err)
			}
			log.Info("serving metrics", zap.String("url", "http://"+listener.Addr().String()+"/metrics"))
			go func() {
				defer close(done)
				if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					log.Error("metrics are no longer served", zap.Error(err))
				}
			}()
			return nil
		},
		OnStop: func(ctx context.Context) error {
			err := server.Shutdown(ctx)
			<-done
			return err
		},
	})
}
