package metrics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

// fake is a store with one topic of two partitions that end at 100 and 200.
type fake struct {
	id        uuid.UUID
	committed map[string]map[backend.Partition]backend.CommittedOffset
	bounds    int                         // calls
	looks     int                         // calls of OffsetGroups
	hang      func(context.Context) error // before the bounds are returned
}

func newFake() *fake {
	return &fake{id: uuid.New(), committed: map[string]map[backend.Partition]backend.CommittedOffset{}}
}

func (f *fake) commit(group string, offsets ...int64) {
	f.committed[group] = map[backend.Partition]backend.CommittedOffset{}
	for i, o := range offsets {
		f.committed[group][backend.Partition{Topic: f.id, Index: int32(i)}] = backend.CommittedOffset{Offset: o}
	}
}

func (f *fake) AllTopics(context.Context) ([]backend.Topic, error) {
	return []backend.Topic{{Name: "orders", ID: f.id, Partitions: 2}}, nil
}

func (f *fake) OffsetGroups(context.Context) ([]string, error) {
	f.looks++
	var names []string
	for name := range f.committed {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (f *fake) FetchOffsets(_ context.Context, group string, _ []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	return f.committed[group], nil
}

func (f *fake) Bounds(ctx context.Context, p backend.Partition) (backend.Bounds, error) {
	f.bounds++
	if f.hang != nil {
		if err := f.hang(ctx); err != nil {
			return backend.Bounds{}, err
		}
	}
	if p.Index > 1 {
		return backend.Bounds{}, backend.ErrUnknownPartition
	}
	return backend.Bounds{End: 100 * int64(p.Index+1)}, nil
}

func (f *fake) LogDir(ctx context.Context) (backend.LogDir, error) {
	return backend.LogDir{Total: 1000, Usable: -1}, ctx.Err()
}

// scrape returns what a collector shows of one metric, sorted.
func scrape(t *testing.T, c prometheus.Collector, name string) []string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	if s, ok := c.(*stored); ok {
		families, err = s.gatherer(r).Gather()
	}
	require.NoError(t, err)
	var out []string
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() != "kafka_gateway_"+name {
				continue
			}
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			out = append(out, strings.TrimSpace(fmt.Sprint(strings.Join(labels, "/"), " ", m.GetGauge().GetValue()+m.GetCounter().GetValue())))
		}
	}
	return out
}

func opened(s store, c Config) *stored {
	out := newStored(s, c)
	out.gate.Open()
	return out
}

func TestLag(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.commit("billing", 90, 250, 7) // ahead of an end that was read before; of a partition that is gone
	f.commit("audit", 100)
	f.committed["billing"][backend.Partition{Topic: uuid.New()}] = backend.CommittedOffset{Offset: 1} // of a topic that is gone
	s := opened(f, DefaultConfig())
	require.Equal(t, []string{"audit/0/orders 0", "billing/0/orders 10", "billing/1/orders 0"}, scrape(t, s, "consumer_lag_records"))
	require.Equal(t, []string{"0"}, scrape(t, s, "consumer_lag_omitted_groups"))
	require.Equal(t, []string{"1"}, scrape(t, s, "topics"))
	require.Equal(t, []string{"2"}, scrape(t, s, "partitions"))
	require.Equal(t, []string{"1000"}, scrape(t, s, "log_dir_bytes"))
	require.Empty(t, scrape(t, s, "log_dir_usable_bytes"), "it is not known")
	require.Equal(t, 1, f.looks, "scrapes share one look")
	require.Equal(t, 3, f.bounds, "each partition is asked once")
}

// Groups are shown as a whole, by name, until there is no room; the rest is counted.
func TestLagIsCapped(t *testing.T) {
	t.Parallel()
	f := newFake()
	for _, group := range []string{"a", "b", "c", "d"} {
		f.commit(group, 1, 2)
	}
	f.commit(strings.Repeat("x", maxName+1), 1)
	s := opened(f, Config{LagSeriesMax: 5, LagInterval: time.Hour})
	require.Len(t, scrape(t, s, "consumer_lag_records"), 4)
	require.Equal(t, []string{"3"}, scrape(t, s, "consumer_lag_omitted_groups"))

	s = opened(f, Config{LagSeriesMax: 0, LagInterval: time.Hour})
	require.Empty(t, scrape(t, s, "consumer_lag_records"))

	s = opened(f, DefaultConfig())
	require.Len(t, scrape(t, s, "consumer_lag_records"), 8)
	require.Equal(t, []string{"1"}, scrape(t, s, "consumer_lag_omitted_groups"), "the one with the long name")
}

// A group's name may be any bytes; labels are text.
func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.commit("a\xffb", 99)
	require.Equal(t, []string{`"a\xffb"/0/orders 1`}, scrape(t, opened(f, DefaultConfig()), "consumer_lag_records"))
}

// A store that does not answer in time costs a scrape no more than that; what was
// found is shown, the rest counted.
func TestStoreThatHangs(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.commit("a", 1)
	f.commit("b", 1, 1)
	f.hang = func(ctx context.Context) error {
		if f.bounds < 2 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	s := opened(f, DefaultConfig())
	began := time.Now()
	require.Equal(t, []string{"a/0/orders 99"}, scrape(t, s, "consumer_lag_records"))
	require.Less(t, time.Since(began), 2*patience)
	require.Equal(t, []string{"1"}, scrape(t, s, "consumer_lag_omitted_groups"))
	require.Equal(t, []string{"1"}, scrape(t, s, "store_look_errors_total"))
	require.Equal(t, []string{"1000"}, scrape(t, s, "log_dir_bytes"))
}

// Before the start and after the stop of the store nothing is asked of it.
func TestOnlyWhileOpen(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := newStored(f, DefaultConfig())
	require.Empty(t, scrape(t, s, "topics"))
	s.gate.Open()
	require.NotEmpty(t, scrape(t, s, "topics"))
	require.NoError(t, s.gate.Shut(t.Context()))
	require.Empty(t, scrape(t, s, "topics"))
	require.Equal(t, 1, f.looks)
}

type counts struct{}

func (counts) Count() coordinator.Counts {
	return coordinator.Counts{Groups: map[coordinator.State]int{coordinator.Stable: 2}, Members: 5, Bytes: 700, Rebalances: 9}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	require.NoError(t, testutil.CollectAndCompare(newGroups(counts{}), strings.NewReader(`
# HELP kafka_gateway_group_members Members of all consumer groups.
# TYPE kafka_gateway_group_members gauge
kafka_gateway_group_members 5
# HELP kafka_gateway_group_memory_bytes Memory that consumer groups take; groups.memory_budget is the limit.
# TYPE kafka_gateway_group_memory_bytes gauge
kafka_gateway_group_memory_bytes 700
# HELP kafka_gateway_group_rebalances_total Rebalances that were completed, of all groups.
# TYPE kafka_gateway_group_rebalances_total counter
kafka_gateway_group_rebalances_total 9
# HELP kafka_gateway_groups Consumer groups, by state.
# TYPE kafka_gateway_groups gauge
kafka_gateway_groups{state="CompletingRebalance"} 0
kafka_gateway_groups{state="Empty"} 0
kafka_gateway_groups{state="PreparingRebalance"} 0
kafka_gateway_groups{state="Stable"} 2
`)))
}
