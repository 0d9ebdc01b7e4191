package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a store with a clock and a registry.
type bed struct {
	*Store
	time     time.Time
	registry *prometheus.Registry
}

func open(t *testing.T, change ...func(*Config)) *bed {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Metrics = "*"
	for _, c := range change {
		c(&cfg)
	}
	b := &bed{time: time.UnixMilli(1_700_000_000_000), registry: prometheus.NewPedanticRegistry()}
	b.Store = New(cfg, func() time.Time { return b.time })
	require.NoError(t, b.registry.Register(b.Store))
	return b
}

func (b *bed) subscribe(t *testing.T, id uuid.UUID) Subscription {
	t.Helper()
	sub, err := b.Subscribe(id, "app")
	require.NoError(t, err)
	return sub
}

// push subscribes a client, if need be, and pushes.
func (b *bed) push(t *testing.T, id uuid.UUID, data []byte) {
	t.Helper()
	require.NoError(t, b.Admit(Push{Client: id, ClientID: "app", Subscription: b.subscription(id), Size: len(data)}))
	require.NoError(t, b.Record(id, data))
}

// shows compares the series of clients with lines, in which $1 stands for the
// labels of client 1. Gathering finds what does not fit together.
func (b *bed) shows(t *testing.T, lines ...string) {
	t.Helper()
	families, err := b.registry.Gather()
	require.NoError(t, err)
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			got = append(got, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), value))
		}
	}
	text := strings.Join(got, "\n")
	text = strings.ReplaceAll(text, `client_id="app",client_instance_id="AQAAAAAAAAAAAAAAAAAAAA"`, "$1")
	text = strings.ReplaceAll(text, `client_id="app",client_instance_id="AgAAAAAAAAAAAAAAAAAAAA"`, "$2")
	require.Equal(t, strings.Join(lines, "\n"), text)
}

func (b *bed) droppedFor(reason string) float64 {
	return testutil.ToFloat64(b.dropped.WithLabelValues(reason))
}

var one, two = uuid.UUID{0: 1}, uuid.UUID{0: 2}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, " , ": nil, "*": {""}, "a, *": {""}, " a. ,b": {"a.", "b"},
	} {
		require.Equal(t, want, Config{Metrics: text}.prefixes(), text)
	}
}

// Who may ask when.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	b := open(t)
	fresh := b.subscribe(t, uuid.Nil)
	require.NotEqual(t, uuid.Nil, fresh.Client)
	require.NotEqual(t, fresh.Client, b.subscribe(t, uuid.Nil).Client)
	require.NotEqual(t, reserved, b.subscribe(t, reserved).Client)
	require.Equal(t, []string{""}, fresh.Metrics)

	first := b.subscribe(t, one)
	require.Equal(t, one, first.Client)
	_, err := b.Subscribe(one, "app")
	require.ErrorIs(t, err, ErrEarly)
	require.NotEqual(t, first.ID, b.subscribe(t, two).ID)
	b.time = b.time.Add(5 * time.Minute)
	require.Equal(t, first, b.subscribe(t, one))

	// A push counts as well as asking, unless it was sent away.
	b.time = b.time.Add(4 * time.Minute)
	b.push(t, one, nil)
	b.time = b.time.Add(time.Minute)
	_, err = b.Subscribe(one, "app")
	require.ErrorIs(t, err, ErrEarly)
	b.time = b.time.Add(4 * time.Minute)
	require.ErrorIs(t, b.Admit(Push{Client: one, Subscription: first.ID + 1}), ErrSubscription)
	b.subscribe(t, one)
	b.push(t, one, nil)

	// Another store asks for the same by the same id, unless it asks for more.
	require.Equal(t, first, open(t).subscribe(t, one))
	require.NotEqual(t, first.ID, open(t, func(c *Config) { c.Metrics = "a" }).subscribe(t, one).ID)
	require.NotEqual(t, first.ID, open(t, func(c *Config) { c.PushInterval = time.Second }).subscribe(t, one).ID)
}

// The checks of a push and their order, as a Kafka 4.4 broker makes them.
func TestAdmit(t *testing.T) {
	t.Parallel()
	b := open(t)
	id := b.subscription(one)
	ok := Push{Client: one, Subscription: id}
	bad := Push{Client: one, Subscription: id + 1, Compression: 9, Size: 2 << 20}

	require.ErrorIs(t, b.Admit(Push{}), ErrID)
	require.ErrorIs(t, b.Admit(Push{Client: reserved}), ErrID)

	// A client that is not known may push at once: so it goes on after a restart.
	require.NoError(t, b.Admit(ok))
	require.ErrorIs(t, b.Admit(bad), ErrEarly)
	step := func(p Push, want error) {
		t.Helper()
		b.time = b.time.Add(5 * time.Minute)
		require.ErrorIs(t, b.Admit(p), want)
		require.ErrorIs(t, b.Admit(ok), ErrEarly, "a refused push counts as one")
	}
	step(bad, ErrSubscription)
	bad.Subscription = id
	step(bad, ErrCompression)
	bad.Compression = -1
	step(bad, ErrCompression)
	bad.Compression = 4
	step(bad, ErrTooLarge)
	step(ok, nil)

	// The last push comes at any time, and none after it.
	last := ok
	last.Terminating = true
	bad.Terminating = true
	require.ErrorIs(t, b.Admit(bad), ErrTooLarge)
	require.NoError(t, b.Admit(last))
	require.ErrorIs(t, b.Admit(last), ErrTerminating)
	require.ErrorIs(t, b.Admit(bad), ErrTerminating)
	b.time = b.time.Add(linger)
	require.NoError(t, b.Admit(ok), "forgotten by then")
}

func TestSeries(t *testing.T) {
	t.Parallel()
	b := open(t)
	topic := attribute("topic", str("orders"))
	b.push(t, one, encode(t,
		gauge("org.apache.kafka.consumer.lag", number(5, topic), number(6)),
		sum("org.apache.kafka.consumer.polls", true, cumulative, number(7)),
		sum("org.apache.kafka.consumer.fetch.total", true, cumulative, number(8)),
		sum("pool.size", false, cumulative, number(9)),
		&histogram,
	))
	b.push(t, two, encode(t, gauge("org.apache.kafka.consumer.lag", number(1, attribute("partition", str("0"))))))
	b.shows(t,
		`kafka_client_consumer_fetch_total{$1} 8`,
		`kafka_client_consumer_lag{$1} 6`,
		`kafka_client_consumer_lag{$1,topic="orders"} 5`,
		`kafka_client_consumer_lag{$2,partition="0"} 1`,
		`kafka_client_consumer_polls_total{$1} 7`,
		`kafka_client_pool_size{$1} 9`,
		`kafka_client_wait_count{$1} 3`,
		`kafka_client_wait_sum{$1} 1.5`,
	)
	// The next push takes the place of the last.
	b.time = b.time.Add(5 * time.Minute)
	b.push(t, one, encode(t, gauge("other", number(1))))
	b.shows(t, `kafka_client_consumer_lag{$2,partition="0"} 1`, `kafka_client_other{$1} 1`)

	// A client that says no more is forgotten, and one that has said so, too.
	b.time = b.time.Add(10*time.Minute - 1)
	require.NoError(t, b.Admit(Push{Client: one, ClientID: "app", Subscription: b.subscription(one), Terminating: true}))
	require.NoError(t, b.Record(one, encode(t, gauge("last", number(2)))))
	b.shows(t, `kafka_client_consumer_lag{$2,partition="0"} 1`, `kafka_client_last{$1} 2`)
	b.time = b.time.Add(1)
	b.shows(t, `kafka_client_last{$1} 2`)
	b.time = b.time.Add(linger)
	b.shows(t)
	require.Empty(t, b.clients)
	require.Empty(t, b.families)
	require.Zero(t, b.series)
}

// Deltas are added up; what is not pushed has not changed.
func TestDeltas(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.push(t, one, encode(t, sum("a", true, delta, number(2)), sum("b", true, delta, number(5))))
	b.time = b.time.Add(5 * time.Minute)
	b.push(t, one, encode(t, sum("a", true, delta, number(3))))
	b.shows(t, `kafka_client_a_total{$1} 5`, `kafka_client_b_total{$1} 5`)
}

// Only what was asked for is taken, and nothing when nothing was.
func TestWanted(t *testing.T) {
	t.Parallel()
	data := encode(t, gauge("a.x", number(1)), gauge("b.x", number(2)))
	b := open(t, func(c *Config) { c.Metrics = "b., c." })
	b.push(t, one, data)
	b.shows(t, `kafka_client_b_x{$1} 2`)

	b = open(t, func(c *Config) { c.Metrics = "" })
	require.Empty(t, b.subscribe(t, one).Metrics)
	b.push(t, one, data)
	b.push(t, two, []byte("garbage"))
	b.shows(t)
}

// A push that cannot be read changes nothing.
func TestInvalidPush(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.push(t, one, encode(t, gauge("a", number(1))))
	require.ErrorIs(t, b.Record(one, append(encode(t, gauge("b", number(1))), 0xff)), ErrInvalid)
	require.NoError(t, b.Record(two, encode(t, gauge("b", number(1)))), "nobody knows the client any more")
	b.shows(t, `kafka_client_a{$1} 1`)
}

func TestBounds(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *Config) { c.MaxClientSeries, c.MaxSeries, c.MaxClients = 2, 3, 2 })
	b.push(t, one, encode(t, gauge("a", number(1)), gauge("b", number(1)), gauge("c", number(1)), gauge("a", number(2))))
	require.EqualValues(t, 1, b.droppedFor(reasonLimit))
	b.time = b.time.Add(1)
	b.push(t, two, encode(t, gauge("a", number(3)), gauge("b", number(3))))
	require.EqualValues(t, 2, b.droppedFor(reasonLimit))
	b.shows(t, `kafka_client_a{$1} 2`, `kafka_client_a{$2} 3`, `kafka_client_b{$1} 1`)

	// A third client takes the place of that which is silent for longest.
	b.time = b.time.Add(1)
	b.subscribe(t, uuid.UUID{0: 3})
	require.Len(t, b.clients, 2)
	b.shows(t, `kafka_client_a{$2} 3`)
	require.Equal(t, 1, b.series)
}

// Whatever clients push, a scrape must not fail.
func TestScrapeHolds(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.push(t, one, encode(t,
		sum("a", true, cumulative, number(1)), gauge("a_total", number(1)), // one name, two types
		&histogram, gauge("wait.count", number(1)), gauge("wait", number(1)),
		gauge("dots.and-dashes", number(1, attribute("x.y", str("1")), attribute("x-y", str("2")))),
		gauge(strings.Repeat("n", maxName+1), number(1)), gauge("", number(1)),
		gauge("ünïcode", number(1, attribute("é", str("é")))),
	))
	require.NoError(t, b.Admit(Push{Client: two, ClientID: "\xff" + strings.Repeat("i", 300), Subscription: b.subscription(two)}))
	require.NoError(t, b.Record(two, encode(t, sum("a.total", true, cumulative, number(1)), sum("dots.and.dashes", true, cumulative, number(1)))))
	_, err := b.registry.Gather()
	require.NoError(t, err)
	require.EqualValues(t, 2, b.droppedFor(reasonUnreadable))
	require.Positive(t, b.droppedFor(reasonType))
}

func TestModule(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	var s *Store
	fxtest.New(t, fx.NopLogger, Module, fx.Supply(DefaultConfig(), fx.Annotate(registry, fx.As(new(prometheus.Registerer)))), fx.Populate(&s)).RequireStart().RequireStop()
	require.Equal(t, DefaultConfig(), s.Config())
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 3)
}
