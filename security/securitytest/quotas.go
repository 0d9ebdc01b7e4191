package securitytest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
)

// QuotaKeeper is what keeps quotas and bounds clients by them.
type QuotaKeeper interface {
	security.Quotas
	security.QuotaList
}

// Quotas is the suite that every keeper passes whose quotas can be listed and changed;
// of others [Bounds] holds, which is a part of it. open returns one that is
// loaded, over entries that outlive it; it runs in a bubble of synctest, where it must
// not start a goroutine that outlives the test. Rates are those of windows of a second,
// eleven of them.
func Quotas(t *testing.T, open func(t *testing.T, entries backend.Entries) QuotaKeeper) {
	for name, test := range map[string]func(t *testing.T, open func() QuotaKeeper){
		"Nothing":          quotaNothing,
		"Precedence":       quotaPrecedence,
		"Rates":            quotaRates,
		"Partitions":       quotaPartitions,
		"GivenBack":        quotaGivenBack,
		"Most":             quotaMost,
		"Addresses":        quotaAddresses,
		"Describe":         quotaDescribe,
		"Alter":            quotaAlter,
		"Refusals":         quotaRefusals,
		"Restart":          quotaRestart,
		"Store":            func(t *testing.T, _ func() QuotaKeeper) { quotaStoreFails(t, open) },
		"ManyAtOnce":       quotaManyAtOnce,
		"OthersAreNotHurt": quotaOthers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				entries := &Entries{}
				test(t, func() QuotaKeeper { return open(t, entries) })
			})
		})
	}
	t.Run("Bounds", func(t *testing.T) { Bounds(t, func(t *testing.T) security.Quotas { return everybody(t, open) }) })
}

// everybody is a keeper that bounds everybody in everything.
func everybody(t *testing.T, open func(t *testing.T, entries backend.Entries) QuotaKeeper) security.Quotas {
	q := open(t, &Entries{})
	for _, kind := range security.QuotaKinds {
		SetQuota(t, q, Entity("user", "*"), kind.String(), 10)
	}
	SetQuota(t, q, Entity("ip", "*"), security.ConnectionRateQuota, 10)
	return q
}

// Entity makes an entity of types and names; "*" is the default of a type.
func Entity(pairs ...string) security.QuotaEntity {
	e := security.QuotaEntity{}
	for i := 0; i+1 < len(pairs); i += 2 {
		e[pairs[i]] = nil
		if name := pairs[i+1]; name != "*" {
			e[pairs[i]] = &name
		}
	}
	return e
}

// QuotaChange makes a change of one quota; a value of 0 removes it.
func QuotaChange(e security.QuotaEntity, key string, value float64) security.QuotaChange {
	change := security.QuotaChange{Entity: e, Values: map[string]*float64{key: nil}}
	if value != 0 {
		change.Values[key] = &value
	}
	return change
}

// SetQuota makes a change of one quota that must succeed.
func SetQuota(t testing.TB, q security.QuotaList, e security.QuotaEntity, key string, value float64) {
	t.Helper()
	errs := q.AlterQuotas(context.Background(), []security.QuotaChange{QuotaChange(e, key, value)}, false)
	require.Equal(t, []error{nil}, errs)
}

// Requester is a requester with a client id.
func Requester(user, id string) security.Requester {
	return security.Requester{Principal: security.User(user), Host: "10.0.0.7", ClientID: id}
}

const byteRate = "producer_byte_rate"

func quotaNothing(t *testing.T, open func() QuotaKeeper) {
	q := open()
	for _, kind := range security.QuotaKinds {
		require.Zero(t, q.Use(Requester("alice", "app"), kind, 1e15))
		require.Zero(t, q.TryUse(Requester("alice", "app"), kind, 1e15))
		require.True(t, math.IsInf(q.Most(Requester("alice", "app"), kind), 1))
	}
	require.Zero(t, q.Use(Requester("alice", "app"), security.NoQuota, 1e15))
	require.Zero(t, q.ConnectionRate("10.0.0.7"))
	found, err := q.DescribeQuotas(t.Context(), nil, false)
	require.NoError(t, err)
	require.Empty(t, found)
}

func quotaPrecedence(t *testing.T, open func() QuotaKeeper) {
	q := open()
	levels := []security.QuotaEntity{
		Entity("user", "alice", "client-id", "app"), Entity("user", "alice", "client-id", "*"), Entity("user", "alice"),
		Entity("user", "*", "client-id", "app"), Entity("user", "*", "client-id", "*"), Entity("user", "*"),
		Entity("client-id", "app"), Entity("client-id", "*"),
	}
	for i, e := range levels {
		SetQuota(t, q, e, byteRate, float64(1000*(i+1)))
	}
	for i, e := range levels {
		require.Equal(t, 10_000*float64(i+1), q.Most(Requester("alice", "app"), security.ProducedBytes), "level %d", i+1)
		SetQuota(t, q, e, byteRate, 0)
	}
	require.True(t, math.IsInf(q.Most(Requester("alice", "app"), security.ProducedBytes), 1))
}

func quotaRates(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("user", "alice"), byteRate, 1000)
	SetQuota(t, q, Entity("user", "*"), "request_percentage", 1)
	use := func(user, id string, n float64) time.Duration {
		return q.Use(Requester(user, id), security.ProducedBytes, n)
	}
	require.Zero(t, use("alice", "a", 10_000))
	require.Equal(t, 5*time.Second, use("alice", "b", 5000), "all clients of the user")
	time.Sleep(5 * time.Second)
	// A rate is measured over ten seconds at least, so these have changed nothing.
	require.Equal(t, 6*time.Second, use("alice", "a", 1000))
	time.Sleep(6 * time.Second)
	require.Zero(t, use("alice", "a", 1000), "what is older than all windows is forgotten")
	require.Zero(t, use("bob", "a", 1e9))

	require.Zero(t, q.Use(Requester("bob", ""), security.RequestTime, 0.1))
	require.Equal(t, 500*time.Millisecond, q.Use(Requester("bob", ""), security.RequestTime, 0.005))
	require.Equal(t, time.Second, q.Use(Requester("bob", ""), security.RequestTime, 60), "a window at most")
	require.Zero(t, q.Use(Requester("carl", ""), security.RequestTime, 0.1), "an account of his own")
}

func quotaPartitions(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("client-id", "app"), "controller_mutation_rate", 2)
	who := Requester("alice", "app")
	require.Zero(t, q.TryUse(who, security.PartitionChanges, 30))
	require.Equal(t, 4*time.Second, q.TryUse(who, security.PartitionChanges, 1))
	require.Equal(t, 5*time.Second, q.Use(who, security.PartitionChanges, 2))
	time.Sleep(5 * time.Second)
	require.Zero(t, q.TryUse(who, security.PartitionChanges, 1))
}

func quotaGivenBack(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("client-id", "app"), "consumer_byte_rate", 100)
	who := Requester("alice", "app")
	require.NotZero(t, q.Use(who, security.FetchedBytes, 5000))
	q.Use(who, security.FetchedBytes, -5000)
	require.Zero(t, q.Use(who, security.FetchedBytes, 1000))
}

func quotaMost(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("client-id", "app"), "consumer_byte_rate", 100)
	who := Requester("alice", "app")
	require.Zero(t, q.Use(who, security.FetchedBytes, q.Most(who, security.FetchedBytes)))
	require.NotZero(t, q.Use(who, security.FetchedBytes, 1))
}

func quotaAddresses(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("ip", "10.0.0.1"), security.ConnectionRateQuota, 3)
	require.Zero(t, q.ConnectionRate("10.0.0.2"))
	SetQuota(t, q, Entity("ip", "*"), security.ConnectionRateQuota, 5)
	require.Equal(t, 3.0, q.ConnectionRate("10.0.0.1"))
	require.Equal(t, 5.0, q.ConnectionRate("10.0.0.2"))
	SetQuota(t, q, Entity("ip", "10.0.0.1"), security.ConnectionRateQuota, 0)
	require.Equal(t, 5.0, q.ConnectionRate("10.0.0.1"))
}

func quotaRestart(t *testing.T, open func() QuotaKeeper) {
	q := open()
	odd := Entity("user", "a b/c%25ü=*\x00\"<default>", "client-id", "*")
	SetQuota(t, q, odd, byteRate, 4096)
	SetQuota(t, q, Entity("user", "bob"), "request_percentage", 0.25)
	SetQuota(t, q, Entity("user", "gone"), "request_percentage", 1)
	SetQuota(t, q, Entity("user", "gone"), "request_percentage", 0)
	before, err := q.DescribeQuotas(t.Context(), nil, false)
	require.NoError(t, err)
	require.Len(t, before, 2)
	again := open()
	after, err := again.DescribeQuotas(t.Context(), nil, false)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NotZero(t, again.Use(Requester("bob", ""), security.RequestTime, 1))
}

func quotaManyAtOnce(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("client-id", "app"), "controller_mutation_rate", 1)
	var all sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for i := range 50 {
		all.Go(func() {
			if q.TryUse(Requester("alice", "app"), security.PartitionChanges, 1000) == 0 {
				mu.Lock()
				granted++
				mu.Unlock()
			}
			q.Use(Requester("alice", fmt.Sprint(i)), security.ProducedBytes, 1)
			_, err := q.DescribeQuotas(context.Background(), nil, false)
			if err == nil {
				err = q.AlterQuotas(context.Background(), []security.QuotaChange{QuotaChange(Entity("user", fmt.Sprint(i)), byteRate, 1)}, false)[0]
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, granted, "one takes what is there")
	found, err := q.DescribeQuotas(t.Context(), nil, false)
	require.NoError(t, err)
	require.Len(t, found, 51, "no change is lost")
}

func quotaOthers(t *testing.T, open func() QuotaKeeper) {
	q := open()
	SetQuota(t, q, Entity("client-id", "greedy"), byteRate, 10)
	SetQuota(t, q, Entity("client-id", "*"), byteRate, 1e6)
	for range 100 {
		q.Use(Requester("alice", "greedy"), security.ProducedBytes, 1e6)
		require.Zero(t, q.Use(Requester("alice", "good"), security.ProducedBytes, 1e5))
	}
}

// Entries is backend.Entries in memory, of one kind after the other.
type Entries struct {
	mu     sync.Mutex
	values map[string]map[string][]byte
	err    error
}

// FailWith makes all that follows fail; nil ends that.
func (e *Entries) FailWith(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// Entries implements backend.Entries.
func (e *Entries) Entries(_ context.Context, kind string) (map[string][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.values[kind]), e.err
}

// ChangeEntries implements backend.Entries.
func (e *Entries) ChangeEntries(_ context.Context, kind string, changes map[string][]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	if err := backend.CheckEntries(kind, changes); err != nil {
		return err
	}
	if e.values == nil {
		e.values = map[string]map[string][]byte{}
	}
	if e.values[kind] == nil {
		e.values[kind] = map[string][]byte{}
	}
	for name, value := range changes {
		if value == nil {
			delete(e.values[kind], name)
		} else {
			e.values[kind][name] = value
		}
	}
	return nil
}
