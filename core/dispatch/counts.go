package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Count is what was counted for one key since the start.
type Count struct {
	Key      int16
	Name     string
	Requests uint64 // of served versions that are done
	// Processing is the sum over these requests of the time that was not spent on
	// waiting for records or for other members.
	Processing time.Duration
	Errors     uint64 // places in answers that had an error code
}

// Counts returns the numbers behind the metrics of the keys that were used, by
// key. It is cheap: the registry and its other collectors are not asked.
func (d *Dispatcher) Counts() []Count {
	byName := make(map[string]*Count, len(d.routes))
	for key := range d.routes {
		name := kmsg.NameForKey(key)
		byName[name] = &Count{Key: key, Name: name}
	}
	each := func(from prometheus.Collector, add func(*Count, *dto.Metric)) {
		for _, m := range collect(from) {
			if c := byName[label(m, "api")]; c != nil {
				add(c, m)
			}
		}
	}
	each(d.metrics.requests, func(c *Count, m *dto.Metric) { c.Requests += uint64(m.GetCounter().GetValue()) })
	each(d.metrics.codes, func(c *Count, m *dto.Metric) { c.Errors += uint64(m.GetCounter().GetValue()) })
	each(d.metrics.processing, func(c *Count, m *dto.Metric) {
		c.Processing = time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
	})
	var used []Count
	for _, c := range byName {
		if c.Requests > 0 {
			used = append(used, *c)
		}
	}
	slices.SortFunc(used, func(a, b Count) int { return cmp.Compare(a.Key, b.Key) })
	return used
}

// collect returns the present values of a metric.
func collect(c prometheus.Collector) []*dto.Metric {
	series := make(chan prometheus.Metric)
	go func() {
		c.Collect(series)
		close(series)
	}()
	var out []*dto.Metric
	for s := range series {
		m := &dto.Metric{}
		if s.Write(m) == nil {
			out = append(out, m)
		}
	}
	return out
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
