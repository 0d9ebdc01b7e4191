package iggy

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// measure registers what readers count, for as long as the store lives.
func (s *Store) measure() error {
	reg := s.opts.Metrics
	if reg == nil {
		return nil
	}
	const ns, sub = "kafka_gateway", "iggy"
	all := []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: ns, Subsystem: sub, Name: "unreadable_messages_total",
			Help: "Messages that were left out for consumers because they cannot be read.",
		}, func() float64 { return float64(s.skipped.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: ns, Subsystem: sub, Name: "cache_bytes",
			Help: "Memory of the batches that are kept for consumers at the ends of logs.",
		}, func() float64 {
			s.cache.mu.Lock()
			defer s.cache.mu.Unlock()
			return float64(s.cache.bytes)
		}),
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, reg.Register(c))
	}
	s.run(func(ctx context.Context) {
		<-ctx.Done()
		for _, c := range all {
			reg.Unregister(c)
		}
	})
	return errors.Join(errs...)
}
