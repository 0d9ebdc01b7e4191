package dispatch

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/wire"
)

// WithQuotas charges what clients use to q, and throttles those that use too much.
// A nil q bounds nothing.
func WithQuotas(q security.Quotas) Option { return func(d *Dispatcher) { d.quotas = q } }

// account is what the client of the request in work may use: it implements
// handler.Account. A connection has one request in work at a time, so each has one
// of these, and uses it again.
type account struct {
	quotas security.Quotas // nil: nothing is charged
	who    security.Requester
	// throttle is the longest that a quota asks for, and by is that quota.
	throttle time.Duration
	by       security.QuotaKind
}

// Throttled returns for how long the connection is to be muted, that is not read
// from, once the answer to the last request is written (KIP-219): zero for not at
// all.
func (c *Caller) Throttled() time.Duration { return c.account.throttle }

// open prepares the caller's account for a request. Logins are free, and so is all
// that comes before them: nobody knows yet whose account that would be.
func (d *Dispatcher) open(from *Caller, r *route) {
	if d.quotas == nil {
		return
	}
	from.account = account{}
	if r.spec.Unmetered || from.Session != nil && !from.Session.LoggedIn() {
		return
	}
	from.account.quotas, from.account.who = d.quotas, from.requester()
}

// forHandlers is the account as handlers see it; nil where nothing is charged.
func (a *account) forHandlers() handler.Account {
	if a.quotas == nil {
		return nil
	}
	return a
}

// Change implements handler.Account.
func (a *account) Change(partitions int, strict bool) bool {
	if !strict {
		a.use(security.PartitionChanges, float64(partitions))
		return true
	}
	wait := a.quotas.TryUse(a.who, security.PartitionChanges, float64(partitions))
	a.wait(security.PartitionChanges, wait)
	return wait == 0
}

// MaxBytes implements handler.Account.
func (a *account) MaxBytes() int {
	if most := a.quotas.Most(a.who, security.FetchedBytes); most < math.MaxInt32 {
		return int(most)
	}
	return math.MaxInt
}

func (a *account) use(kind security.QuotaKind, amount float64) {
	a.wait(kind, a.quotas.Use(a.who, kind, amount))
}

func (a *account) wait(kind security.QuotaKind, d time.Duration) {
	if d > a.throttle {
		a.throttle, a.by = d, kind
	}
}

// charge charges what a request took, and makes the answer say for how long its
// client is throttled. worked is the time that was spent on it. No answer is
// nil: a producer that wants none is muted all the same, though it is not charged
// for time, as in Kafka.
func (d *Dispatcher) charge(
	r *route, from *Caller, head wire.Header, resp kmsg.Response, answer *Answer, worked time.Duration,
) {
	a := &from.account
	if a.quotas == nil {
		return
	}
	bytes := 0.0
	switch {
	case r.spec.Uses == security.ProducedBytes:
		bytes = float64(from.request.received - wire.PrefixSize)
		a.use(security.ProducedBytes, bytes)
	case r.spec.Uses == security.FetchedBytes && answer != nil:
		bytes = float64(answer.Size())
		a.use(security.FetchedBytes, bytes)
	}
	if answer != nil {
		a.use(security.RequestTime, worked.Seconds())
	}
	if a.throttle == 0 {
		return
	}
	d.metrics.throttledBy(a.by, a.throttle)
	if answer == nil {
		return
	}
	if r.spec.Throttled != nil {
		resp = r.spec.Throttled(resp)
		resp.SetVersion(head.Version)
		if r.spec.Uses == security.FetchedBytes {
			a.quotas.Use(a.who, security.FetchedBytes, -bytes)
		}
	}
	if t, ok := resp.(kmsg.SetThrottleResponse); ok {
		t.SetThrottle(int32(min(a.throttle.Milliseconds(), math.MaxInt32))) // #nosec G115 -- at most MaxInt32
	}
	// The answer grows only by what is set here, if at all: fields have fixed sizes.
	answer.write(r, &d.mark, head, resp)
}

// throttling are the metrics of quotas.
type throttling struct {
	requests, seconds *prometheus.CounterVec
}

func newThrottling(counters func(name, help string, labels ...string) *prometheus.CounterVec) throttling {
	return throttling{
		requests: counters("throttled_requests_total",
			"Requests whose client was over a quota, by Kafka's name of the quota that asked for the longest wait.", "quota"),
		seconds: counters("throttle_seconds_total", "The time for which their connections were muted, by the same.", "quota"),
	}
}

func (t throttling) throttledBy(kind security.QuotaKind, d time.Duration) {
	t.requests.WithLabelValues(kind.String()).Inc()
	t.seconds.WithLabelValues(kind.String()).Add(d.Seconds())
}
