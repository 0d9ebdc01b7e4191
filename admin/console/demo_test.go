package console_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// demoNow is when the demonstration takes place.
var demoNow = time.Date(2026, time.March, 9, 14, 30, 0, 0, time.UTC)

// demoStore is a store of a small shop, the same at every run.
type demoStore struct {
	topics  []backend.Topic
	bounds  map[backend.Partition]backend.Bounds
	commits map[string]map[backend.Partition]backend.CommittedOffset
}

func (s *demoStore) ClusterID(context.Context) (string, error) { return "Zm9vYmFyMTIzNDU2Nzg5MA", nil }

func (s *demoStore) LogDir(context.Context) (backend.LogDir, error) {
	return backend.LogDir{Path: "/var/lib/kafka-gateway", Total: 480 << 30, Usable: 311 << 30}, nil
}

func (s *demoStore) AllTopics(context.Context) ([]backend.Topic, error) { return s.topics, nil }

func (s *demoStore) Topic(_ context.Context, name string) (backend.Topic, error) {
	for _, t := range s.topics {
		if t.Name == name {
			return t, nil
		}
	}
	return backend.Topic{}, backend.ErrUnknownTopic
}

func (s *demoStore) Bounds(_ context.Context, p backend.Partition) (backend.Bounds, error) {
	b, ok := s.bounds[p]
	if !ok {
		return b, backend.ErrUnknownTopic
	}
	return b, nil
}

func (s *demoStore) Sizes(_ context.Context, id uuid.UUID) ([]int64, error) {
	for _, t := range s.topics {
		if t.ID == id {
			sizes := make([]int64, t.Partitions)
			for i := range sizes {
				b := s.bounds[backend.Partition{Topic: id, Index: int32(i)}]
				sizes[i] = (b.End - b.Start) * 217
			}
			return sizes, nil
		}
	}
	return nil, backend.ErrUnknownTopic
}

func (s *demoStore) OffsetGroups(context.Context) ([]string, error) {
	var names []string
	for name := range s.commits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (s *demoStore) FetchOffsets(_ context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	found := map[backend.Partition]backend.CommittedOffset{}
	for p, c := range s.commits[group] {
		if ps == nil || slices.Contains(ps, p) {
			found[p] = c
		}
	}
	return found, nil
}

// add makes a topic whose partitions have about n records each.
func (s *demoStore) add(t testing.TB, name string, partitions int32, n int64, overrides map[string]string) {
	catalog := catalogOf(t)
	topic := backend.Topic{
		Name: name, ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), Partitions: partitions,
		Overrides: overrides, Config: catalog.Resolve(overrides),
	}
	s.topics = append(s.topics, topic)
	slices.SortFunc(s.topics, func(a, b backend.Topic) int { return cmp.Compare(a.Name, b.Name) })
	for i := range int64(partitions) {
		start := n / 10 * (i % 3)
		s.bounds[backend.Partition{Topic: topic.ID, Index: int32(i)}] = backend.Bounds{Start: start, End: start + n + n*((i*7)%5)/20}
	}
}

// commit commits for all partitions of a topic, each lag records from its end.
func (s *demoStore) commit(group, topic, metadata string, lag func(i int64) int64, at time.Time) {
	t, err := s.Topic(context.Background(), topic)
	if err != nil {
		panic(err)
	}
	if s.commits[group] == nil {
		s.commits[group] = map[backend.Partition]backend.CommittedOffset{}
	}
	for i := range int64(t.Partitions) {
		p := backend.Partition{Topic: t.ID, Index: int32(i)}
		s.commits[group][p] = backend.CommittedOffset{
			Offset: s.bounds[p].End - lag(i), LeaderEpoch: -1, Metadata: metadata, CommitTime: at.Add(time.Duration(i) * time.Second),
		}
	}
}

func catalogOf(t testing.TB) *topicconfig.Catalog {
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	return catalog
}

// assign encodes an assignment as consumers do.
func assign(topic string, partitions ...int32) []byte {
	a := kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: partitions}}}
	return a.AppendTo(nil)
}

func subscribe(topics ...string) []byte {
	m := kmsg.ConsumerMemberMetadata{Version: 1, Topics: topics}
	return m.AppendTo(nil)
}

func demoData(t testing.TB) *demoStore {
	s := &demoStore{bounds: map[backend.Partition]backend.Bounds{}, commits: map[string]map[backend.Partition]backend.CommittedOffset{}}
	s.add(t, "orders", 12, 184_302, map[string]string{"retention.ms": "1209600000"})
	s.add(t, "orders.dead-letter", 1, 41, nil)
	s.add(t, "payments", 6, 92_110, map[string]string{"retention.bytes": "10737418240"})
	s.add(t, "customers", 3, 20_884, map[string]string{"cleanup.policy": "compact"})
	s.add(t, "shipments", 6, 55_020, nil)
	s.add(t, "clickstream", 24, 1_204_338, map[string]string{"retention.ms": "86400000"})
	s.add(t, "warehouse.stock-levels", 3, 8_210, map[string]string{"cleanup.policy": "compact,delete"})
	for i := range 48 {
		s.add(t, fmt.Sprintf("telemetry.site-%02d", i+1), 1, int64(900+37*i), nil)
	}
	few := func(i int64) int64 { return i * 3 % 7 }
	s.commit("billing", "orders", "", few, demoNow.Add(-40*time.Second))
	s.commit("billing", "payments", "", few, demoNow.Add(-38*time.Second))
	s.commit("analytics", "clickstream", "spark-3.5", func(i int64) int64 { return 2_400 + 911*(i%5) }, demoNow.Add(-2*time.Minute))
	s.commit("shipping-labels", "shipments", "", func(int64) int64 { return 0 }, demoNow.Add(-15*time.Second))
	s.commit("nightly-export", "orders", "", func(i int64) int64 { return 31_000 + 120*i }, demoNow.Add(-14*time.Hour))
	return s
}

func demoGroups() *coordinatortest.Fake {
	client := func(n int, id, host string, topic string, partitions ...int32) coordinator.MemberDescription {
		return coordinator.MemberDescription{
			MemberID: fmt.Sprintf("%s-%d-6f1c0a52-8d0e-4f7e-9a71-0c5d2b7e41%02d", id, n, n), ClientID: fmt.Sprintf("%s-%d", id, n), ClientHost: host,
			Metadata: subscribe(topic), Assignment: assign(topic, partitions...),
		}
	}
	described := []coordinator.Description{
		{Group: "analytics", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "cooperative-sticky", Members: []coordinator.MemberDescription{
			client(1, "spark", "/10.0.4.11", "clickstream", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
			client(2, "spark", "/10.0.4.12", "clickstream", 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23),
		}},
		{Group: "billing", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range", Members: []coordinator.MemberDescription{
			client(1, "billing", "/10.0.3.7", "orders", 0, 1, 2, 3), client(2, "billing", "/10.0.3.8", "orders", 4, 5, 6, 7),
			client(3, "billing", "/10.0.3.9", "orders", 8, 9, 10, 11),
		}},
		{Group: "fraud-model", State: coordinator.PreparingRebalance, ProtocolType: "consumer"},
		{Group: "shipping-labels", State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range", Members: []coordinator.MemberDescription{
			client(1, "labels", "/10.0.3.21", "shipments", 0, 1, 2, 3, 4, 5),
		}},
	}
	return groupsOf(described, func(group string) []coordinator.Rebalance {
		if group != "billing" {
			return nil
		}
		at := demoNow.Add(-26 * time.Hour)
		return []coordinator.Rebalance{
			{Began: at, Completed: at.Add(3 * time.Second), Generation: 1, Members: 1, Protocol: "range", Reason: "a new member joined"},
			{Began: at.Add(time.Minute), Completed: at.Add(time.Minute + 840*time.Millisecond), Generation: 2, Members: 3, Protocol: "range", Reason: "a new member joined"},
			{Began: demoNow.Add(-50 * time.Minute), Completed: demoNow.Add(-50*time.Minute + 2100*time.Millisecond), Generation: 3, Members: 2, Protocol: "range", Reason: "a session timed out"},
			{Began: demoNow.Add(-44 * time.Minute), Completed: demoNow.Add(-44*time.Minute + 12*time.Millisecond), Generation: 4, Members: 3, Protocol: "range", Reason: "a new member joined"},
		}
	})
}

// groupsOf is a coordinator that has these groups.
func groupsOf(described []coordinator.Description, history func(string) []coordinator.Rebalance) *coordinatortest.Fake {
	return &coordinatortest.Fake{
		ListFunc: func(context.Context, coordinator.Filter) []coordinator.Listing {
			var out []coordinator.Listing
			for _, d := range described {
				out = append(out, coordinator.Listing{Group: d.Group, ProtocolType: d.ProtocolType, State: d.State})
			}
			return out
		},
		DescribeFunc: func(ctx context.Context, ids []string, b coordinator.Bill) ([]coordinator.Description, error) {
			var out []coordinator.Description
			for _, id := range ids {
				d := coordinator.Description{Group: id, State: coordinator.Dead}
				if i := slices.IndexFunc(described, func(d coordinator.Description) bool { return d.Group == id }); i >= 0 {
					d = described[i]
				}
				b.Price(coordinator.Lengths{Group: id, State: d.State, Members: len(d.Members)})
				out = append(out, d)
			}
			if b.Reserve != nil {
				if err := b.Reserve(ctx, 0); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
		HistoryFunc: func(_ context.Context, group string) []coordinator.Rebalance { return history(group) },
		CountFunc: func() coordinator.Counts {
			c := coordinator.Counts{Groups: map[coordinator.State]int{}, Bytes: 48_211, Rebalances: 9}
			for _, d := range described {
				c.Groups[d.State]++
				c.Members += len(d.Members)
			}
			return c
		},
	}
}

// demoCounter counts requests of a day's course.
type demoCounter struct{ now *time.Time }

func (c demoCounter) Counts() []dispatch.Count {
	seconds := c.now.Sub(demoNow.Add(-time.Hour)).Seconds()
	of := func(key int16, perSecond, swing, took float64, errors uint64) dispatch.Count {
		n := seconds*perSecond + swing*perSecond*10*math.Sin(seconds/40+float64(key))
		return dispatch.Count{
			Key: key, Name: kmsg.NameForKey(key), Requests: uint64(n), Processing: time.Duration(n * took * float64(time.Millisecond)), Errors: errors,
		}
	}
	return []dispatch.Count{
		of(0, 412, 1, 1.9, 0), of(1, 655, .8, .42, uint64(seconds/30)), of(2, 4, .1, .08, 0), of(3, 9, .2, .11, 3),
		of(8, 21, .3, .6, 0), of(9, 2.5, .1, .2, 0), of(10, .4, 0, .05, 0), of(11, .02, 0, .3, 2), of(12, 5.3, .05, .03, 0), of(18, .8, 0, .04, 0),
	}
}

// demoMix has looked every five seconds for five minutes.
func demoMix() *console.Mix {
	at := demoNow.Add(-5 * time.Minute)
	m := console.NewMix(demoCounter{&at}, func() time.Time { return at })
	for at.Before(demoNow) {
		at = at.Add(console.SampleEvery)
		m.Sample()
	}
	return m
}

// demoAPIs are a few keys of the registry.
func demoAPIs() []handler.Spec {
	var specs []handler.Spec
	for _, s := range []struct {
		key, low, high int16
		name           string
	}{{0, 3, 13, "produce"}, {1, 4, 17, "fetch"}, {2, 1, 11, "listoffsets"}, {3, 0, 13, "metadata"}, {8, 2, 10, "offsetcommit"},
		{9, 1, 10, "offsetfetch"}, {10, 0, 6, "findcoordinator"}, {11, 0, 9, "joingroup"}, {12, 0, 4, "heartbeat"}, {13, 0, 5, "leavegroup"},
		{14, 0, 5, "syncgroup"}, {15, 0, 6, "describegroups"}, {16, 0, 5, "listgroups"}, {18, 0, 5, "apiversions"}} {
		specs = append(specs, handler.Spec{
			Range: handler.Range{Key: s.key, Min: s.low, Max: s.high}, AdvertisedMin: s.low, BadRequest: handler.CloseConnection,
			Origin: "github.com/iggykafka/gateway/handlers/" + s.name + ".(*server).answer-fm",
		})
	}
	return specs
}

// demoSecurity is a gateway that strangers have tried.
func demoSecurity() console.Security {
	r := prometheus.NewRegistry()
	add := func(name, label string, values map[string]float64) {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kafka_gateway_" + name}, []string{label})
		for value, n := range values {
			g.WithLabelValues(value).Set(n)
		}
		r.MustRegister(g)
	}
	add("listener_connections", "listener", map[string]float64{"default": 3, "external": 214})
	add("tls_certificate_expires_timestamp_seconds", "certificate", map[string]float64{"/etc/kafka-gateway/tls.crt": float64(demoNow.Add(52 * 24 * time.Hour).Unix())})
	add("tls_file_reload_failing", "certificate", map[string]float64{"/etc/kafka-gateway/tls.crt": 0})
	add("refused_logins_total", "mechanism", map[string]float64{"PLAIN": 4, "SCRAM-SHA-512": 131})
	add("denied_operations_total", "api", map[string]float64{"CreateTopics": 2, "Fetch": 18})
	add("connections_refused_total", "reason", map[string]float64{"max_connections": 0, "connection_creation_rate": 57})
	return console.Security{Authorizer: "acls", Quotas: "stored", Metrics: r}
}

func demoSources(t testing.TB) console.Sources {
	node := &settings.Node{ID: 1}
	node.Advertise("kafka.example.com", 9092)
	node.Listen([]settings.Listener{
		{Name: "default", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092},
		{Name: "external", Protocol: "SASL_SSL", Host: "kafka.example.com", Port: 9093, Mechanisms: []string{"OAUTHBEARER", "SCRAM-SHA-512"}},
	})
	return console.Sources{
		Store: demoData(t), Groups: demoGroups(), Catalog: catalogOf(t), Node: node, APIs: demoAPIs(), Mix: demoMix(), Security: demoSecurity(), Version: "v0.3.0",
		Now: func() time.Time { return demoNow },
	}
}

// get asks for a page.
func get(t testing.TB, s console.Sources, path string) *httptest.ResponseRecorder {
	pages, err := console.New(s)
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	return answer
}
