package metrics

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/iggykafka/gateway/core/backend"
)

// maxName is the longest group name that is shown as a label, in bytes. Kafka
// lets a client choose one of 32 KiB.
const maxName = 256

// store is what is asked of the backend.
type store interface {
	AllTopics(context.Context) ([]backend.Topic, error)
	OffsetGroups(context.Context) ([]string, error)
	FetchOffsets(context.Context, string, []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error)
	Bounds(context.Context, backend.Partition) (backend.Bounds, error)
	LogDir(context.Context) (backend.LogDir, error)
}

// lag is how far a group is behind the end of a partition, in records.
type lag struct {
	group, topic string
	partition    int32
	records      int64
}

// lags are those of all groups, as far as they were found.
type lags struct {
	series  []lag
	text    []byte // of the series
	omitted int    // groups
}

// lagsOf finds out how far every group is behind. It shows groups in the order of
// their names, each as a whole or not at all, until max series are reached, an
// error comes or ctx ends; the groups after that are counted as omitted.
func lagsOf(ctx context.Context, s store, topics []backend.Topic, max int) (lags, error) {
	var out lags
	if max == 0 {
		return out, nil
	}
	groups, err := s.OffsetGroups(ctx)
	if err != nil {
		return out, err
	}
	look := look{store: s, names: make(map[uuid.UUID]string, len(topics)), ends: map[backend.Partition]int64{}}
	for _, t := range topics {
		look.names[t.ID] = t.Name
	}
	for i, group := range groups {
		if len(group) > maxName {
			out.omitted++
			continue
		}
		of, err := look.group(ctx, group)
		if err != nil || len(out.series)+len(of) > max {
			out.omitted += len(groups) - i
			return out, err
		}
		out.series = append(out.series, of...)
	}
	return out, nil
}

// look is one look at all groups. Partitions are asked for their ends once.
type look struct {
	store store
	names map[uuid.UUID]string
	ends  map[backend.Partition]int64
}

// group returns the lags of one group, by topic and partition.
func (l *look) group(ctx context.Context, group string) ([]lag, error) {
	committed, err := l.store.FetchOffsets(ctx, group, nil)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(group) { // labels are text
		group = strconv.Quote(group)
	}
	out := make([]lag, 0, len(committed))
	for p, c := range committed {
		topic, known := l.names[p.Topic]
		if !known { // gone, or made since
			continue
		}
		end, err := l.end(ctx, p)
		if errors.Is(err, backend.ErrUnknownTopic) || errors.Is(err, backend.ErrUnknownPartition) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, lag{group, topic, p.Index, max(0, end-c.Offset)})
	}
	slices.SortFunc(out, func(a, b lag) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	return out, nil
}

func (l *look) end(ctx context.Context, p backend.Partition) (int64, error) {
	if end, known := l.ends[p]; known {
		return end, nil
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	bounds, err := l.store.Bounds(ctx, p)
	if err != nil {
		return 0, err
	}
	l.ends[p] = bounds.End
	return bounds.End, nil
}

// found is what one look at the store found.
type found struct {
	at                 time.Time
	took               time.Duration
	topics, partitions int
	lags               lags
	dir                *backend.LogDir // nil where it is not known
	err                error
}

// find looks at the store.
func find(ctx context.Context, s store, seriesMax int) found {
	f := found{at: time.Now()}
	topics, err := s.AllTopics(ctx)
	f.topics = len(topics)
	for _, t := range topics {
		f.partitions += int(t.Partitions)
	}
	// Before what may use up the time there is.
	if dir, err := s.LogDir(ctx); err == nil {
		f.dir = &dir
	}
	if err == nil {
		f.lags, err = lagsOf(ctx, s, topics, seriesMax)
	}
	f.err, f.lags.text = err, textOf(f.lags.series)
	f.took = time.Since(f.at)
	return f
}

// textOf writes the metric that shows lags.
func textOf(lags []lag) []byte {
	family := familyOf(lags)
	if family == nil {
		return nil
	}
	var out bytes.Buffer
	out.Grow(128 * len(lags))
	if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
		return nil // only of a writer that fails, or a family without a name
	}
	return out.Bytes()
}

// familyOf makes the metric that shows lags; nil when there are none. At 10,000
// series a registry would take longer to check and sort them than a look takes.
func familyOf(lags []lag) *dto.MetricFamily {
	if len(lags) == 0 {
		return nil
	}
	metrics := make([]*dto.Metric, len(lags))
	for i, l := range lags {
		metrics[i] = &dto.Metric{
			Label: []*dto.LabelPair{label("group", l.group), label("partition", strconv.Itoa(int(l.partition))), label("topic", l.topic)},
			Gauge: &dto.Gauge{Value: new(float64(l.records))},
		}
	}
	return &dto.MetricFamily{
		Name:   new(ns + "_consumer_lag_records"),
		Help:   new("How far a group's committed offset is behind the end of the partition."),
		Type:   dto.MetricType_GAUGE.Enum(),
		Metric: metrics,
	}
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
