package telemetry

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// prefix begins the name of every series of a client.
	prefix = "kafka_client_"
	// kafkaPrefix begins the names that KIP-714 gives; it says nothing here.
	kafkaPrefix = "org.apache.kafka."
	help        = "Pushed by Kafka clients (KIP-714)."

	// The bounds of a series: bytes of its name, number of labels, bytes of their
	// names and values.
	maxName       = 200
	maxLabels     = 8
	maxLabelName  = 64
	maxLabelValue = 256
)

// clientLabels tell whose series it is.
var clientLabels = []string{"client_id", "client_instance_id"}

// clientLabelValues returns the values of clientLabels. The instance id is written
// as Kafka writes it, so that it is found in the logs of the client.
func clientLabelValues(clientID string, id uuid.UUID) []string {
	return []string{labelValue(clientID, maxClientID), base64.RawURLEncoding.EncodeToString(id[:])}
}

// series is one series of one client.
type series struct {
	name   string
	counts bool // a counter; else a gauge
	labels []string
	values []string
	value  float64
	// delta: the value is the sum of those that were pushed.
	delta  bool
	metric prometheus.Metric // as it is shown
}

// family is a name and what it is for all clients: Prometheus refuses a name that
// is a counter here and a gauge there.
type family struct {
	counts bool
	series int
}

// Record takes what a push that was admitted has: the data decompressed. It
// replaces what the client pushed before. ErrInvalid when the data are no metrics;
// nothing changes then.
func (s *Store) Record(id uuid.UUID, data []byte) error {
	if len(s.prefixes) == 0 || len(data) == 0 {
		return nil
	}
	found, dropped, err := s.read(data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[id]; c != nil {
		dropped.limit += s.replace(c, found, &dropped)
	}
	s.dropped.WithLabelValues(reasonUnreadable).Add(float64(dropped.unreadable))
	s.dropped.WithLabelValues(reasonLimit).Add(float64(dropped.limit))
	s.dropped.WithLabelValues(reasonType).Add(float64(dropped.kind))
	return nil
}

// drops counts series that are left out, by the reason.
type drops struct{ unreadable, limit, kind int }

// read returns the series of a push by their identities, at most as many as a
// client may have.
func (s *Store) read(data []byte) (map[string]series, drops, error) {
	found, dropped := map[string]series{}, drops{}
	err := readMetrics(data, func(p *point) {
		if !s.wanted(p.name) {
			return
		}
		labels, values, ok := labelsOf(p.attributes)
		if !ok || p.name == "" || len(p.name) > maxName {
			dropped.unreadable++
			return
		}
		add := func(suffix string, counts bool, value float64) {
			one := series{name: metricNameOf(p.name, suffix), counts: counts, labels: labels, values: values, value: value, delta: p.delta}
			key := one.key()
			if _, again := found[key]; !again && len(found) >= s.cfg.MaxClientSeries {
				dropped.limit++
				return
			}
			found[key] = one
		}
		switch p.kind {
		case gaugeKind:
			add("", false, p.value)
		case sumKind:
			if p.monotonic {
				add("_total", true, p.value)
			} else {
				add("", false, p.value)
			}
		default:
			add("_count", true, p.count)
			add("_sum", true, p.sum)
		}
	})
	return found, dropped, err
}

// wanted reports whether a metric was asked for.
func (s *Store) wanted(name string) bool {
	return slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// replace puts new series in place of those of a client and returns how many
// found no room. Deltas are added to what was there; one that is not pushed has
// not changed.
func (s *Store) replace(c *client, found map[string]series, dropped *drops) (over int) {
	old := c.series
	c.series = make(map[string]series, len(found))
	for key, one := range old {
		next, pushed := found[key]
		switch {
		case pushed && next.delta && next.counts == one.counts:
			next.value += one.value
			found[key] = next
		case !pushed && one.delta && len(found) < s.cfg.MaxClientSeries:
			found[key] = one
		}
		s.release(one)
	}
	for _, key := range slices.Sorted(maps.Keys(found)) { // the same ones find room every time
		one := found[key]
		f := s.families[one.name]
		switch {
		case f.series > 0 && f.counts != one.counts:
			dropped.kind++
			continue
		case s.series >= s.cfg.MaxSeries:
			over++
			continue
		}
		if one.metric = one.shown(c.labels); one.metric == nil {
			dropped.unreadable++
			continue
		}
		c.series[key] = one
		s.families[one.name] = family{counts: one.counts, series: f.series + 1}
		s.series++
	}
	return over
}

// release takes a series out of the counts.
func (s *Store) release(one series) {
	f := s.families[one.name]
	if f.series--; f.series > 0 {
		s.families[one.name] = f
	} else {
		delete(s.families, one.name)
	}
	s.series--
}

// key tells series of one client apart.
func (s *series) key() string {
	return s.name + "\xff" + strings.Join(s.labels, "\xff") + "\xff" + strings.Join(s.values, "\xff")
}

// shown returns the metric that is scraped; nil if there cannot be one.
func (s *series) shown(client []string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if s.counts {
		kind = prometheus.CounterValue
	}
	desc := prometheus.NewDesc(s.name, help, slices.Concat(clientLabels, s.labels), nil)
	m, err := prometheus.NewConstMetric(desc, kind, s.value, slices.Concat(client, s.values)...)
	if err != nil {
		return nil
	}
	return m
}

// metricNameOf writes a name as Prometheus has it.
func metricNameOf(name, suffix string) string {
	name = prefix + sanitized(strings.TrimPrefix(name, kafkaPrefix))
	if strings.HasSuffix(name, suffix) {
		return name
	}
	return name + suffix
}

// labelsOf reads attributes as labels, sorted by name; ok is false when one cannot
// be a label.
func labelsOf(attributes [][]byte) (labels, values []string, ok bool) {
	if len(attributes) > maxLabels {
		return nil, nil, false
	}
	byName := make(map[string]string, len(attributes))
	for _, raw := range attributes {
		key, value, ok := readAttribute(raw)
		if !ok || key == "" || len(key) > maxLabelName {
			return nil, nil, false
		}
		name := sanitized(key)
		if name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "__") {
			name = "label_" + name
		}
		if slices.Contains(clientLabels, name) {
			continue // known better
		}
		byName[name] = labelValue(value, maxLabelValue)
	}
	for name := range byName {
		labels = append(labels, name)
	}
	slices.Sort(labels)
	for _, name := range labels {
		values = append(values, byName[name])
	}
	return labels, values, true
}

// labelValue cuts a value to a length and makes it valid.
func labelValue(value string, most int) string {
	return strings.ToValidUTF8(value[:min(len(value), most)], "\uFFFD")
}

// sanitized replaces what neither a name nor a label of Prometheus may have.
func sanitized(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
}
