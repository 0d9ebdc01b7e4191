package quotas

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory keeps entries of one kind.
type memory map[string][]byte

func (m memory) Entries(context.Context, string) (map[string][]byte, error) {
	return maps.Clone(m), nil
}

func (m memory) ChangeEntries(_ context.Context, kind string, changes map[string][]byte) error {
	for name, value := range changes {
		if value == nil {
			delete(m, name)
		} else {
			m[name] = value
		}
	}
	return backend.CheckEntries(kind, changes)
}

// entity makes an entity of types and names; "*" is the default.
func entity(pairs ...string) security.QuotaEntity {
	e := security.QuotaEntity{}
	for i := 0; i+1 < len(pairs); i += 2 {
		e[pairs[i]] = nil
		if name := pairs[i+1]; name != "*" {
			e[pairs[i]] = &name
		}
	}
	return e
}

// set sets one quota, or removes it with a value of 0.
func set(t *testing.T, q *Quotas, e security.QuotaEntity, key string, value float64) {
	t.Helper()
	change := security.QuotaChange{Entity: e, Values: map[string]*float64{key: nil}}
	if value != 0 {
		change.Values[key] = &value
	}
	require.NoError(t, q.AlterQuotas(t.Context(), []security.QuotaChange{change}, false)[0])
}

func client(user, id string) security.Requester {
	return security.Requester{Principal: security.User(user), ClientID: id}
}

// The first of Kafka's eight levels that fits counts, and below them the configuration.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	levels := []security.QuotaEntity{
		entity("user", "alice", "client-id", "app"),
		entity("user", "alice", "client-id", "*"),
		entity("user", "alice"),
		entity("user", "*", "client-id", "app"),
		entity("user", "*", "client-id", "*"),
		entity("user", "*"),
		entity("client-id", "app"),
		entity("client-id", "*"),
	}
	c := DefaultConfig()
	c.ConsumerByteRate = 9000
	q := New(memory{}, c)
	for i, e := range levels {
		set(t, q, e, "consumer_byte_rate", float64(1000*(i+1)))
	}
	most := func(user, id string) float64 { return q.Most(client(user, id), security.FetchedBytes) / 10 }
	for i, e := range levels {
		require.Equal(t, float64(1000*(i+1)), most("alice", "app"), "level %d", i+1)
		if i == 1 {
			require.Equal(t, 2000.0, most("alice", "other"))
			require.Equal(t, 4000.0, most("bob", "app"))
			require.Equal(t, 5000.0, most("bob", "other"))
			require.Equal(t, 3000.0, most("alice", ""), "no client id, no quota by it")
			require.Equal(t, 6000.0, most("bob", ""))
			require.Equal(t, 7000.0, most("", "app"))
			require.Equal(t, 8000.0, most("", "other"))
			require.Equal(t, 9000.0, most("", ""))
		}
		set(t, q, e, "consumer_byte_rate", 0)
	}
	require.Equal(t, 9000.0, most("alice", "app"))
	require.True(t, math.IsInf(q.Most(client("alice", "app"), security.ProducedBytes), 1), "another kind")
	require.Empty(t, q.list)
}

// A throttle is the time until the rate is the quota again. The numbers are those of
// a Kafka 4.4 broker with a quota of 10000 bytes a second, which was sent 40000, 40000
// and 200000 bytes at once.
func TestThrottleOfKafka(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("client-id", "probe"), "producer_byte_rate", 10_000)
		who := client("ANONYMOUS", "probe")
		require.Zero(t, q.Use(who, security.ProducedBytes, 40_102))
		require.Zero(t, q.Use(who, security.ProducedBytes, 40_102))
		throttle := q.Use(who, security.ProducedBytes, 200_102)
		require.InDelta(t, 18.03, throttle.Seconds(), 0.01)
		// The client did as it was told.
		time.Sleep(throttle)
		require.Zero(t, q.Use(who, security.ProducedBytes, 10))
	})
}

// A client that goes on as soon as it may gets its quota, in the long run exactly.
func TestRate(t *testing.T) {
	t.Parallel()
	for _, size := range []float64{16_384, 1 << 20, 4 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const quota = 1 << 20
				q := New(memory{}, DefaultConfig())
				set(t, q, entity("user", "alice"), "producer_byte_rate", quota)
				began, sent := time.Now(), 0.0
				for time.Since(began) < 5*time.Minute {
					time.Sleep(time.Millisecond) // the request itself
					sent += size
					time.Sleep(q.Use(client("alice", "app"), security.ProducedBytes, size))
				}
				require.InEpsilon(t, quota, sent/time.Since(began).Seconds(), 0.06)
			})
		})
	}
}

// Clients of one user share its quota; those of "any user" do not.
func TestAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("user", "alice"), "producer_byte_rate", 10)
		set(t, q, entity("user", "*"), "producer_byte_rate", 10)
		set(t, q, entity("user", "both", "client-id", "*"), "producer_byte_rate", 10)
		use := func(user, id string) time.Duration { return q.Use(client(user, id), security.ProducedBytes, 100) }
		require.Zero(t, use("alice", "a"))
		require.Equal(t, 10*time.Second, use("alice", "b"))
		require.Zero(t, use("bob", "a"))
		require.Zero(t, use("carl", "a"))
		require.Equal(t, 10*time.Second, use("bob", "b"))
		require.Zero(t, use("both", "a"))
		require.Zero(t, use("both", "b"))
		require.Equal(t, 10*time.Second, use("both", "b"))
		require.Zero(t, q.Use(client("alice", "a"), security.FetchedBytes, 1e9), "no quota of this kind")
	})
}

// Request time is in percent of a processor, and throttled by a window at most.
func TestRequestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("client-id", "app"), "request_percentage", 1)
		who := client("alice", "app")
		require.Zero(t, q.Use(who, security.RequestTime, 0.1), "1 % of 10 s")
		require.Equal(t, 500*time.Millisecond, q.Use(who, security.RequestTime, 0.005))
		require.Equal(t, time.Second, q.Use(who, security.RequestTime, 5))
	})
}

// Partitions come from a bucket of all windows, which may be emptied below zero once.
func TestPartitionChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("client-id", "app"), "controller_mutation_rate", 2)
		who, changes := client("alice", "app"), security.PartitionChanges
		require.Zero(t, q.TryUse(who, changes, 30), "22 are in the bucket")
		require.Equal(t, 4*time.Second, q.TryUse(who, changes, 1))
		require.Equal(t, 4*time.Second, q.TryUse(who, changes, 100), "what is refused is not charged")
		require.Equal(t, 5*time.Second, q.Use(who, changes, 2))
		time.Sleep(5 * time.Second)
		require.Zero(t, q.TryUse(who, changes, 1))
		require.Equal(t, 500*time.Millisecond, q.TryUse(who, changes, 1))
		time.Sleep(time.Hour)
		require.Zero(t, q.TryUse(who, changes, 22))
		require.Zero(t, q.TryUse(who, changes, 22), "the bucket is empty, not below")
		require.Equal(t, 11*time.Second, q.TryUse(who, changes, 22))
	})
}

// Of many that ask at once, one takes what is there.
func TestTryUseIsOneStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("client-id", "app"), "controller_mutation_rate", 1)
		var all sync.WaitGroup
		granted := make(chan bool, 100)
		for range 100 {
			all.Go(func() { granted <- q.TryUse(client("alice", "app"), security.PartitionChanges, 1000) == 0 })
		}
		all.Wait()
		close(granted)
		n := 0
		for ok := range granted {
			if ok {
				n++
			}
		}
		require.Equal(t, 1, n)
	})
}

// What is given back counts no more.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("client-id", "app"), "consumer_byte_rate", 100)
		who := client("alice", "app")
		require.NotZero(t, q.Use(who, security.FetchedBytes, 5000))
		q.Use(who, security.FetchedBytes, -5000)
		require.Zero(t, q.Use(who, security.FetchedBytes, 1000))
	})
}

// Client ids are chosen by clients: their accounts are bounded, and idle ones go.
func TestManyClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := DefaultConfig()
		c.MaxAccounts, c.ProducerByteRate = 320, 100
		q := New(memory{}, c)
		throttled := 0
		for i := range 10_000 {
			if q.Use(client("mallory", fmt.Sprint(i)), security.ProducedBytes, 100) > 0 {
				throttled++
			}
		}
		require.LessOrEqual(t, q.accounts.len(), 320)
		require.Greater(t, throttled, 5000, "those for whom there is no room share accounts")
		time.Sleep(12 * time.Second)
		for i := range 2000 { // every lock's share gets some
			q.Use(client("alice", fmt.Sprint(i)), security.ProducedBytes, 1)
		}
		for i := range q.accounts.shards {
			for k := range q.accounts.shards[i].byKey {
				require.Equal(t, "alice", k.user, "idle accounts are forgotten")
			}
		}
		time.Sleep(12 * time.Second)

		long := strings.Repeat("x", 32<<10)
		require.Zero(t, q.Use(client("alice", long), security.ProducedBytes, 1000))
		require.NotZero(t, q.Use(client("alice", long), security.ProducedBytes, 1000))
		require.Zero(t, q.Use(client("alice", long+"x"), security.ProducedBytes, 1000))
	})
}

// Whoever makes up client ids until there is no room takes nothing from other users,
// neither where the quota is of users and clients nor where it is of clients alone.
func TestManyClientsOfOneUser(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*Quotas){
		"of users and clients": func(*Quotas) {},
		"of clients":           func(q *Quotas) { set(t, q, entity("client-id", "*"), "producer_byte_rate", 100) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := DefaultConfig()
			c.MaxAccounts, c.ProducerByteRate = 640, 100
			q := New(memory{}, c)
			prepare(q)
			throttled := false
			for i := range 10_000 {
				throttled = q.Use(client("mallory", fmt.Sprint(i)), security.ProducedBytes, 1000) > 0
			}
			require.True(t, throttled, name)
			require.Zero(t, q.Use(client("alice", "app"), security.ProducedBytes, 1000), name)
			require.NotZero(t, q.Use(client("alice", "app"), security.ProducedBytes, 1000), name)
			require.Zero(t, q.Use(client("bob", "app"), security.ProducedBytes, 10), name)
		})
	}
}

// A removed quota bounds nothing, at once.
func TestRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(memory{}, DefaultConfig())
		set(t, q, entity("user", "*"), "producer_byte_rate", 10)
		require.NotZero(t, q.Use(client("alice", ""), security.ProducedBytes, 1000))
		set(t, q, entity("user", "*"), "producer_byte_rate", 0)
		require.Zero(t, q.Use(client("alice", ""), security.ProducedBytes, 1000))
	})
}

func TestConnectionRate(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.ConnectionCreationRate = 7
	q := New(memory{}, c)
	require.Equal(t, 7.0, q.ConnectionRate("10.0.0.1"))
	set(t, q, entity("ip", "10.0.0.1"), "connection_creation_rate", 3)
	set(t, q, entity("ip", "0:0:0:0:0:0:0:1"), "connection_creation_rate", 4)
	require.Equal(t, 3.0, q.ConnectionRate("10.0.0.1"))
	require.Equal(t, 3.0, q.ConnectionRate("::ffff:10.0.0.1"))
	require.Equal(t, 4.0, q.ConnectionRate("::1"))
	require.Equal(t, 7.0, q.ConnectionRate("10.0.0.2"))
	set(t, q, entity("ip", "*"), "connection_creation_rate", 5)
	require.Equal(t, 5.0, q.ConnectionRate("10.0.0.2"))
	require.Equal(t, 5.0, q.ConnectionRate("no address"))
}

// Without a quota that fits, nothing is allocated, and with one only the first time.
func TestUseAllocatesNothing(t *testing.T) { // alone: all allocations of the process count
	q := New(memory{}, DefaultConfig())
	who := client("alice", "app")
	use := func() { q.Use(who, security.ProducedBytes, 1) }
	require.Zero(t, testing.AllocsPerRun(100, use))
	set(t, q, entity("user", "bob"), "producer_byte_rate", 10)
	require.Zero(t, testing.AllocsPerRun(100, use))
	set(t, q, entity("user", "alice"), "producer_byte_rate", 10)
	require.Zero(t, testing.AllocsPerRun(100, use))
}
