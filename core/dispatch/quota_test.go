package dispatch

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// ledger is a security.Quotas that writes down what it is asked and throttles as the
// test says.
type ledger struct {
	throttle map[security.QuotaKind]time.Duration
	used     map[security.QuotaKind]float64
	who      []security.Requester
}

func (l *ledger) Use(who security.Requester, kind security.QuotaKind, amount float64) time.Duration {
	l.who = append(l.who, who)
	if l.used == nil {
		l.used = map[security.QuotaKind]float64{}
	}
	l.used[kind] += amount
	return l.throttle[kind]
}

func (l *ledger) TryUse(who security.Requester, kind security.QuotaKind, amount float64) time.Duration {
	if d := l.throttle[kind]; d > 0 {
		return d
	}
	return l.Use(who, kind, amount)
}

func (l *ledger) Most(security.Requester, security.QuotaKind) float64 { return math.Inf(1) }
func (l *ledger) ConnectionRate(string) float64                       { return 0 }

func metered(t *testing.T, q security.Quotas, handlers ...handler.Handler) *bench {
	b := open(t, defaults, handlers...)
	WithQuotas(q)(b.Dispatcher)
	return b
}

// beat asks for a Heartbeat and returns the throttle in the answer, in ms.
func (b *bench) beat(version int16) (int32, error) {
	b.t.Helper()
	got, err := b.ask(payload(kmsg.NewPtrHeartbeatRequest(), version))
	if err != nil {
		return 0, err
	}
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.SetVersion(version)
	body := got[4:]
	if resp.IsFlexible() {
		body = body[1:]
	}
	require.NoError(b.t, resp.ReadFrom(body))
	return resp.ThrottleMillis, nil
}

// The longest throttle is told where the version has room for it, and always mutes.
func TestThrottle(t *testing.T) {
	t.Parallel()
	l := &ledger{throttle: map[security.QuotaKind]time.Duration{security.RequestTime: 1500 * time.Millisecond}}
	b := metered(t, l, dispatchtest.Heartbeat(nil))
	for version, want := range []int32{0, 1500, 1500, 1500, 1500} {
		got, err := b.beat(int16(version))
		require.NoError(t, err)
		require.Equal(t, want, got, "version %d", version)
		require.Equal(t, 1500*time.Millisecond, b.from.Throttled())
	}
	require.Equal(t, 5.0, b.metric("throttled_requests_total{request_percentage}"))
	require.Equal(t, 7.5, b.metric("throttle_seconds_total{request_percentage}"))
	l.throttle = nil
	got, err := b.beat(4)
	require.NoError(t, err)
	require.Zero(t, got)
	require.Zero(t, b.from.Throttled(), "that of the request before is over")
	require.Equal(t, security.Requester{Principal: b.from.Principal, Host: "10.0.0.7", ClientID: "me"}, l.who[0])
}

// Time is what was worked, not what was waited.
func TestRequestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		b := metered(t, l, dispatchtest.Heartbeat(func(ctx context.Context, call handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			time.Sleep(2 * time.Second)
			_, stop := call.Park(ctx)
			time.Sleep(time.Hour)
			stop()
			return kmsg.NewPtrHeartbeatResponse(), nil
		}))
		_, err := b.beat(1)
		require.NoError(t, err)
		require.Equal(t, map[security.QuotaKind]float64{security.RequestTime: 2}, l.used)
	})
}

func produceTo(acks int16, records int) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = acks
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, records)}}}}
	return req
}

// using is a handler with options, though it was made without them.
func using(h handler.Handler, opts ...handler.Option) handler.Handler {
	return with(h, func(s *handler.Spec) {
		for _, opt := range opts {
			opt(s)
		}
	})
}

// Produce pays for its request; one without an answer is muted too, and pays for no
// time, as in Kafka.
func TestProducedBytes(t *testing.T) {
	t.Parallel()
	for _, acks := range []int16{-1, 0} {
		l := &ledger{throttle: map[security.QuotaKind]time.Duration{security.ProducedBytes: time.Second}}
		b := metered(t, l, using(dispatchtest.Produce(), handler.Uses(security.ProducedBytes)))
		frame := payload(produceTo(acks, 1000), 9)
		got, err := b.ask(frame)
		require.NoError(t, err)
		require.Equal(t, acks == 0, got == nil)
		require.Equal(t, float64(len(frame)), l.used[security.ProducedBytes])
		_, timed := l.used[security.RequestTime]
		require.Equal(t, acks != 0, timed)
		require.Equal(t, time.Second, b.from.Throttled())
		require.Equal(t, 1.0, b.metric("throttled_requests_total{producer_byte_rate}"))
	}
}

// fetching answers DescribeGroups as if groups were records: the answer's bytes count,
// and a throttled one is sent without them.
func fetching(t *testing.T, l *ledger) *bench {
	member := "a member id that takes some bytes"
	return metered(t, l, handler.New(0, 2, guard.Body(guard.NeverFlexible, guard.Array[string](guard.String())), handler.CloseConnection,
		func(context.Context, handler.Call, *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
			resp := kmsg.NewPtrDescribeGroupsResponse()
			resp.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: member}}
			return resp, nil
		},
		handler.Uses(security.FetchedBytes),
		handler.WhenThrottled(func(*kmsg.DescribeGroupsResponse) *kmsg.DescribeGroupsResponse {
			return kmsg.NewPtrDescribeGroupsResponse()
		})))
}

func (b *bench) fetch() *kmsg.DescribeGroupsResponse {
	b.t.Helper()
	got, err := b.ask(payload(kmsg.NewPtrDescribeGroupsRequest(), 2))
	require.NoError(b.t, err)
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.SetVersion(2)
	require.NoError(b.t, resp.ReadFrom(got[4:]))
	return resp
}

func TestFetchedBytes(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	b := fetching(t, l)
	require.Len(t, b.fetch().Groups, 1)
	charged := l.used[security.FetchedBytes]
	require.Greater(t, charged, 50.0)

	for _, kind := range []security.QuotaKind{security.FetchedBytes, security.RequestTime} {
		l.throttle = map[security.QuotaKind]time.Duration{kind: time.Second}
		resp := b.fetch()
		require.Empty(t, resp.Groups)
		require.EqualValues(t, 1000, resp.ThrottleMillis)
		require.Equal(t, charged, l.used[security.FetchedBytes], "what was not sent is not charged")
	}
}

// Logins are free, and so is what comes before them.
func TestNotCharged(t *testing.T) {
	t.Parallel()
	l := &ledger{throttle: map[security.QuotaKind]time.Duration{security.RequestTime: time.Second}}
	free := metered(t, l, using(dispatchtest.Heartbeat(nil), handler.Unmetered()))
	_, err := free.beat(4)
	require.NoError(t, err)
	require.Zero(t, free.from.Throttled())

	b := metered(t, l, dispatchtest.Heartbeat(nil))
	s := &quotaSession{}
	b.from.Session = s
	_, err = b.beat(4)
	require.NoError(t, err)
	require.Empty(t, l.used)
	s.in = true
	_, err = b.beat(4)
	require.NoError(t, err)
	require.Equal(t, time.Second, b.from.Throttled())
	require.Equal(t, security.User("alice"), l.who[0].Principal)
}

// quotaSession admits everything.
type quotaSession struct {
	Session
	in bool
}

func (s *quotaSession) Admit(handler.Spec, int16, string) error { return nil }
func (s *quotaSession) Bare() bool                              { return false }
func (s *quotaSession) LoggedIn() bool                          { return s.in }
func (s *quotaSession) Principal() security.Principal           { return security.User("alice") }

// Changes are refused to those whose version knows the code, and charged to others.
func TestChange(t *testing.T) {
	t.Parallel()
	var strict, ok bool
	l := &ledger{}
	b := metered(t, l, dispatchtest.Heartbeat(func(_ context.Context, call handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
		ok = call.Change(5, strict)
		return kmsg.NewPtrHeartbeatResponse(), nil
	}))
	for _, strict = range []bool{false, true} {
		l.throttle, l.used = nil, nil
		_, err := b.beat(4)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, 5.0, l.used[security.PartitionChanges])

		l.throttle, l.used = map[security.QuotaKind]time.Duration{security.PartitionChanges: 3 * time.Second}, nil
		told, err := b.beat(4)
		require.NoError(t, err)
		require.Equal(t, !strict, ok)
		require.EqualValues(t, 3000, told)
		require.Equal(t, 3*time.Second, b.from.Throttled())
		_, charged := l.used[security.PartitionChanges]
		require.Equal(t, !strict, charged)
	}
	require.True(t, handler.Call{}.Change(5, true), "without quotas")
	require.Equal(t, math.MaxInt, handler.Call{}.MaxBytes())
}

// What closes the connection is charged nothing.
func TestFailureIsNotThrottled(t *testing.T) {
	t.Parallel()
	l := &ledger{throttle: map[security.QuotaKind]time.Duration{security.RequestTime: time.Second}}
	b := metered(t, l, dispatchtest.Heartbeat(func(context.Context, handler.Call, *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
		return nil, errors.New("broken")
	}))
	_, err := b.beat(4)
	require.Error(t, err)
	require.Zero(t, b.from.Throttled())
	require.Empty(t, l.used)
}
