package metrics

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/iggykafka/gateway/admin/internal/gate"
)

// patience bounds one look at the store: an Iggy server may be far away. What it
// has not found by then is left out.
const patience = 2 * time.Second

// stored shows what only a look at the store tells: topics, the place on its
// disk, and lag. Scrapes within the interval share one look. Between start and
// stop of the store alone there is anything to show.
type stored struct {
	store  store
	config Config
	gate   gate.Gate

	mu     sync.Mutex
	last   found
	failed int

	topics, partitions, total, usable, omitted, took, errors *prometheus.Desc
}

func newStored(s store, c Config) *stored {
	return &stored{
		store: s, config: c,
		topics:     describe("topics", "Topics."),
		partitions: describe("partitions", "Partitions of all topics."),
		total:      describe("log_dir_bytes", "Size of the volume that the logs lie on, where that is known."),
		usable:     describe("log_dir_usable_bytes", "What is free of it."),
		omitted: describe("consumer_lag_omitted_groups",
			"Groups whose lag is not shown: above metrics.lag_series_max, not found out in time, or with a name above 256 bytes."),
		took:   describe("store_look_duration_seconds", "What the last look at topics and committed offsets took."),
		errors: describe("store_look_errors_total", "Looks at the store that did not come to their end."),
	}
}

// Describe implements prometheus.Collector.
func (s *stored) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.topics, s.partitions, s.total, s.usable, s.omitted, s.took, s.errors} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *stored) Collect(out chan<- prometheus.Metric) {
	f, failed, ok := s.look()
	if !ok {
		return
	}
	out <- prometheus.MustNewConstMetric(s.errors, prometheus.CounterValue, float64(failed))
	out <- gauge(s.took, f.took.Seconds())
	out <- gauge(s.topics, float64(f.topics))
	out <- gauge(s.partitions, float64(f.partitions))
	if f.dir != nil && f.dir.Total >= 0 {
		out <- gauge(s.total, float64(f.dir.Total))
	}
	if f.dir != nil && f.dir.Usable >= 0 {
		out <- gauge(s.usable, float64(f.dir.Usable))
	}
	out <- gauge(s.omitted, float64(f.lags.omitted))
}

// gatherer returns what a registry has, this collector included, and the lags of
// its last look.
func (s *stored) gatherer(r prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := r.Gather()
		if lags := familyOf(s.lags().series); lags != nil {
			at, _ := slices.BinarySearchFunc(families, lags, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
			families = slices.Insert(families, at, lags)
		}
		return families, err
	})
}

// text returns the lags of the last look as Prometheus' text format has them.
func (s *stored) text() []byte { return s.lags().text }

// lags returns those of the last look; none while the store must not be asked.
func (s *stored) lags() lags {
	_, leave, ok := s.gate.Enter(context.Background())
	if !ok {
		return lags{}
	}
	defer leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.lags
}

// look returns what was found lately, or looks anew. It reports false while the
// store must not be asked.
func (s *stored) look() (found, int, bool) {
	ctx, leave, ok := s.gate.Enter(context.Background())
	if !ok {
		return found{}, 0, false
	}
	defer leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.at.IsZero() || time.Since(s.last.at) >= s.config.LagInterval {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s.last = find(ctx, s.store, s.config.LagSeriesMax)
		if s.last.err != nil {
			s.failed++
		}
	}
	return s.last, s.failed, true
}
