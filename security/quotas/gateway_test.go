package quotas_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// The windows of these tests: a client may burst for 0.4 seconds.
const (
	windows = 3
	window  = 200 * time.Millisecond
)

func start(t *testing.T, change func(*app.Config)) string {
	return gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) {
		c.Quotas.Windows, c.Quotas.WindowSize = windows, window
		if change != nil {
			change(c)
		}
	}))
}

// throttles counts what a client is told.
type throttles struct{ count, millis atomic.Int64 }

func (h *throttles) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	h.count.Add(1)
	h.millis.Add(d.Milliseconds())
}

func newClient(t *testing.T, addr, id string, opts ...kgo.Opt) (*kgo.Client, *throttles) {
	t.Helper()
	h := &throttles{}
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.ClientID(id), kgo.WithHooks(h),
		kgo.AllowAutoTopicCreation(), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64<<10),
		kgo.ProducerLinger(0), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.DisableIdempotentWrite(), kgo.RecordDeliveryTimeout(time.Minute))...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, h
}

// setQuota sets one quota of a client id; 0 removes it.
func setQuota(t *testing.T, addr, id, key string, value float64) {
	t.Helper()
	c, _ := newClient(t, addr, "admin")
	altered, err := kadm.NewClient(c).AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &id}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: key, Value: value, Remove: value == 0}},
	}})
	require.NoError(t, err)
	require.NoError(t, altered[0].Err)
}

// size is that of a record; eight of them a second are the quota of these tests, which
// every machine can do.
const (
	size  = 32 << 10
	quota = 8 * size
)

// send produces so many records, one request after another, and returns how
// long it took.
func send(t *testing.T, c *kgo.Client, topic string, records int) time.Duration {
	t.Helper()
	value := make([]byte, size)
	began := time.Now()
	for range records {
		require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr())
	}
	return time.Since(began)
}

// A producer with a quota gets about that, is told so, and slows nobody else; without
// it, it goes as fast as it can.
func TestProducer(t *testing.T) {
	t.Parallel()
	addr := start(t, nil)
	setQuota(t, addr, "greedy", "producer_byte_rate", quota)
	greedy, told := newClient(t, addr, "greedy")
	good, untold := newClient(t, addr, "good")
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			good.ProduceSync(ctx, &kgo.Record{Topic: "good", Value: make([]byte, size)})
		}
	}()
	send(t, greedy, "greedy", 8) // the burst, and more
	took := send(t, greedy, "greedy", 16)
	stop()
	<-done
	// Two seconds' worth; on a machine that is busy it can only take longer.
	require.Greater(t, took.Seconds(), 1.5)
	require.Less(t, took.Seconds(), 20.0)
	require.Positive(t, told.count.Load())
	require.Zero(t, untold.count.Load())

	setQuota(t, addr, "greedy", "producer_byte_rate", 0)
	require.NoError(t, greedy.ProduceSync(t.Context(), &kgo.Record{Topic: "greedy", Value: []byte("the last one to wait")}).FirstErr())
	before := told.count.Load()
	send(t, greedy, "greedy", 16)
	require.Equal(t, before, told.count.Load())
}

// A consumer with a quota gets about that, and all records.
func TestConsumer(t *testing.T) {
	t.Parallel()
	addr := start(t, nil)
	producer, _ := newClient(t, addr, "producer")
	const records = 24 // three seconds' worth
	send(t, producer, "t", records)
	setQuota(t, addr, "greedy", "consumer_byte_rate", quota)
	consumer, told := newClient(t, addr, "greedy", kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond))
	began := time.Now()
	for n := 0; n < records; {
		fetched := consumer.PollFetches(t.Context())
		require.NoError(t, fetched.Err())
		n += fetched.NumRecords()
	}
	require.Greater(t, time.Since(began).Seconds(), 1.5)
	require.Positive(t, told.count.Load())
}

// The time of requests is bounded by a window at a time, whatever they ask for.
func TestRequestTime(t *testing.T) {
	t.Parallel()
	addr := start(t, nil)
	setQuota(t, addr, "busy", "request_percentage", 0.0001)
	c, err := rawclient.Dial(addr, "busy")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	ask := func() (int32, time.Duration) {
		began := time.Now()
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = 2
		resp, err := c.Call(req)
		require.NoError(t, err)
		return resp.(*kmsg.ApiVersionsResponse).ThrottleMillis, time.Since(began)
	}
	told, _ := ask()
	require.EqualValues(t, window.Milliseconds(), told)
	_, took := ask()
	require.Greater(t, took, window/2, "the connection was muted")
}

// A producer that wants no answers is muted, too.
func TestNoAcks(t *testing.T) {
	t.Parallel()
	addr := start(t, nil)
	setQuota(t, addr, "greedy", "producer_byte_rate", quota)
	c, told := newClient(t, addr, "greedy", kgo.RequiredAcks(kgo.NoAck()))
	send(t, c, "greedy", 8) // 0.6 seconds beyond the burst
	began := time.Now()
	reader, _ := newClient(t, addr, "reader", kgo.ConsumeTopics("greedy"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for n := 0; n < 8; {
		fetched := reader.PollFetches(t.Context())
		require.NoError(t, fetched.Err())
		n += fetched.NumRecords()
	}
	require.Greater(t, time.Since(began).Seconds(), 0.2)
	require.Zero(t, told.count.Load(), "there are no answers to tell it")
}

// Those of the configuration bound every client, whatever it calls itself.
func TestConfigured(t *testing.T) {
	t.Parallel()
	addr := start(t, func(c *app.Config) { c.Quotas.ProducerByteRate = 64 << 10 })
	for _, id := range []string{"one", "another", ""} {
		c, told := newClient(t, addr, id)
		send(t, c, "t", 4)
		require.Positive(t, told.count.Load(), "%q", id)
	}
}

// Quotas outlive a restart.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored := func(c *app.Config) { c.Storage.Backend, c.Storage.Dir = "embedded", dir }
	require.True(t, t.Run("set", func(t *testing.T) {
		setQuota(t, start(t, stored), "greedy", "producer_byte_rate", 64<<10)
	}))
	t.Run("still there", func(t *testing.T) {
		addr := start(t, stored)
		c, told := newClient(t, addr, "greedy")
		send(t, c, "t", 4)
		require.Positive(t, told.count.Load())
		found, err := kadm.NewClient(c).DescribeClientQuotas(t.Context(), false, nil)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, 64.0*1024, found[0].Values[0].Value)
	})
}

// A gateway that keeps no quotas bounds nobody, and hides the keys.
func TestNone(t *testing.T) {
	t.Parallel()
	addr := start(t, func(c *app.Config) { c.Quotas.Keeper = "none"; c.Quotas.ProducerByteRate = 1 })
	c, told := newClient(t, addr, "any")
	send(t, c, "t", 8)
	require.Zero(t, told.count.Load())
	_, err := kadm.NewClient(c).DescribeClientQuotas(t.Context(), false, nil)
	require.ErrorContains(t, err, "too old")
}

// call sends one request on a connection of its own: the one before may be muted.
func call[R kmsg.Response](t *testing.T, addr, id string, req kmsg.Request) R {
	t.Helper()
	c, err := rawclient.Dial(addr, id)
	require.NoError(t, err)
	defer c.Close()
	resp, err := c.Call(req)
	require.NoError(t, err)
	return resp.(R)
}

// Who changes too many partitions is refused or throttled, by the version, and
// creates none on the way; another client is not hurt (KIP-599).
func TestPartitionChangesOfAClient(t *testing.T) {
	t.Parallel()
	addr := start(t, nil)
	setQuota(t, addr, "greedy", "controller_mutation_rate", 1)
	create := func(id string, version int16, topic string) (code int16, throttle int32) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = version, 10_000
		new := kmsg.NewCreateTopicsRequestTopic()
		new.Topic, new.NumPartitions, new.ReplicationFactor = topic, 100, 1
		req.Topics = append(req.Topics, new)
		resp := call[*kmsg.CreateTopicsResponse](t, addr, id, req)
		return resp.Topics[0].ErrorCode, resp.ThrottleMillis
	}
	code, throttle := create("greedy", 7, "first")
	require.Zero(t, code)
	require.Zero(t, throttle)
	code, throttle = create("greedy", 7, "refused")
	require.EqualValues(t, 89, code)
	require.Greater(t, throttle, int32(30_000))
	code, throttle = create("greedy", 5, "throttled")
	require.Zero(t, code)
	require.Greater(t, throttle, int32(130_000))
	code, _ = create("good", 7, "good")
	require.Zero(t, code)

	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Version, remove.TimeoutMillis, remove.TopicNames = 5, 10_000, []string{"first"}
	require.EqualValues(t, 89, call[*kmsg.DeleteTopicsResponse](t, addr, "greedy", remove).Topics[0].ErrorCode)
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Version, grow.TimeoutMillis = 3, 10_000
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "first", Count: 101}}
	require.EqualValues(t, 89, call[*kmsg.CreatePartitionsResponse](t, addr, "greedy", grow).Topics[0].ErrorCode)
	look, name := kmsg.NewPtrMetadataRequest(), "on-the-way"
	look.Version, look.AllowAutoTopicCreation = 9, true
	look.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	require.EqualValues(t, 3, call[*kmsg.MetadataResponse](t, addr, "greedy", look).Topics[0].ErrorCode)
	require.Zero(t, call[*kmsg.MetadataResponse](t, addr, "good", look).Topics[0].ErrorCode)
}
