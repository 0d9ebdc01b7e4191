package iggy

import (
	"context"
	"errors"
	"sync"

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
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: ns, Subsystem: sub, Name: "repaired_batches_total",
			Help: "Batches that were sent again because the Iggy server had acknowledged and could not read them.",
		}, func() float64 { return float64(s.repaired.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: ns, Subsystem: sub, Name: "cache_bytes",
			Help: "Memory of the batches that are kept for consumers at the ends of logs.",
		}, func() float64 {
			s.cache.mu.Lock()
			defer s.cache.mu.Unlock()
			return float64(s.cache.bytes)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: ns, Subsystem: sub, Name: "refused_partitions",
			Help: "Partitions that are not served because they end before what the gateway has seen of them: they have lost records.",
		}, func() float64 { return float64(s.faulty.count()) }),
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

// faulty are the partitions that are not served.
type faulty struct {
	mu  sync.Mutex
	all map[*partition]bool
}

func (f *faulty) set(p *partition, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !is:
		delete(f.all, p)
	case f.all == nil:
		f.all = map[*partition]bool{p: true}
	default:
		f.all[p] = true
	}
}

// count counts those that are still there.
func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.all {
		if p.store.topicOf(p) == nil {
			delete(f.all, p)
		}
	}
	return len(f.all)
}
