package securitytest

import (
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

// Bounds is what every security.Quotas passes, one whose quotas nobody can list or
// change included: [Quotas], which is for those that are a security.QuotaList, contains
// it. open returns a keeper that nobody has used; it runs in a bubble of synctest, where
// it must not start a goroutine that outlives the test.
func Bounds(t *testing.T, open func(t *testing.T) security.Quotas) {
	for name, test := range map[string]func(*testing.T, security.Quotas){
		"Answers":    boundsAnswers,
		"Most":       boundsMost,
		"TryUse":     boundsTryUse,
		"GivenBack":  boundsGivenBack,
		"ManyAtOnce": boundsManyAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, open(t)) })
		})
	}
}

// bounded are clients of all sorts.
func bounded() []security.Requester {
	long := strings.Repeat("ü", 1000)
	return []security.Requester{
		{}, {Principal: security.Anonymous, Host: "::1"}, Requester("alice", "app"), Requester("alice", ""), Requester(long, long),
	}
}

// requireThrottle fails the test unless d is how long a client may be throttled.
func requireThrottle(t *testing.T, d time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, d, time.Duration(0))
	require.Zero(t, d%time.Millisecond, "%v is not in whole milliseconds", d)
}

// Whoever asks gets an answer that a client can be told, at once, and whatever is used
// costs nobody who is not bounded.
func boundsAnswers(t *testing.T, q security.Quotas) {
	began := time.Now()
	for _, who := range bounded() {
		for _, kind := range security.QuotaKinds {
			most := q.Most(who, kind)
			require.False(t, math.IsNaN(most) || most < 0, "%v may use %v of %v", who, most, kind)
			for _, amount := range []float64{0, 1e-9, 1, 1e15, -1e15} {
				requireThrottle(t, q.TryUse(who, kind, amount))
				throttle := q.Use(who, kind, amount)
				requireThrottle(t, throttle)
				if math.IsInf(most, 1) {
					require.Zero(t, throttle, "%v is not bounded in %v", who, kind)
				}
			}
		}
		require.Zero(t, q.Use(who, security.NoQuota, 1e15))
		require.Zero(t, q.TryUse(who, security.NoQuota, 1e15))
	}
	for _, host := range []string{"10.0.0.7", "::1", "fe80::1%eth0", "", "no address"} {
		rate := q.ConnectionRate(host)
		require.False(t, math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0, "%v connections a second", rate)
	}
	require.Equal(t, began, time.Now(), "it blocks")
}

// eachBound runs a test for every client and kind that the keeper bounds.
func eachBound(q security.Quotas, test func(who security.Requester, kind security.QuotaKind, most float64)) {
	for _, kind := range security.QuotaKinds {
		// One client: others may share its account.
		who := Requester("alice", "app")
		if most := q.Most(who, kind); !math.IsInf(most, 1) {
			test(who, kind, most)
		}
	}
}

// A client may use at once what it is told, and not much more.
func boundsMost(t *testing.T, q security.Quotas) {
	eachBound(q, func(who security.Requester, kind security.QuotaKind, most float64) {
		require.Zero(t, q.Use(who, kind, most), "%v", kind)
		require.NotZero(t, q.Use(who, kind, 2*most+1), "%v", kind)
	})
}

// What is refused is not charged, and who waits is let in again.
func boundsTryUse(t *testing.T, q security.Quotas) {
	eachBound(q, func(who security.Requester, kind security.QuotaKind, most float64) {
		require.NotZero(t, q.Use(who, kind, 3*most+1), "%v", kind)
		first := q.TryUse(who, kind, 1)
		require.NotZero(t, first, "%v", kind)
		for range 100 {
			require.Equal(t, first, q.TryUse(who, kind, 3*most+1), "%v: what is refused is charged", kind)
		}
		time.Sleep(time.Hour)
		require.Zero(t, q.TryUse(who, kind, most/2), "%v", kind)
	})
}

func boundsGivenBack(t *testing.T, q security.Quotas) {
	eachBound(q, func(who security.Requester, kind security.QuotaKind, most float64) {
		require.NotZero(t, q.Use(who, kind, 3*most+1), "%v", kind)
		q.Use(who, kind, -3*most-1)
		require.Zero(t, q.Use(who, kind, most/2), "%v", kind)
	})
}

// It is asked from many goroutines at once, and no use is lost.
func boundsManyAtOnce(t *testing.T, q security.Quotas) {
	eachBound(q, func(who security.Requester, kind security.QuotaKind, most float64) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				q.TryUse(who, kind, most/10)
				q.Use(who, kind, most/10)
				q.Most(who, kind)
				q.ConnectionRate(who.Host)
			})
		}
		all.Wait()
		require.NotZero(t, q.Use(who, kind, 1), "%v", kind)
	})
}
