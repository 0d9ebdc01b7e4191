package oracle

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The load of TestProduceRate: what may be used at once in ten windows, and then
// quotaSeconds of what the quota gives.
const (
	bytesPerSecond = 256 << 10
	quotaSeconds   = 6
	recordSize     = 32 << 10
)

// A producer with a quota gets the same from both servers, with its windows as they
// are by default: at first ten seconds' worth at once, and from then on the quota.
func TestProduceRate(t *testing.T) {
	servers := map[string]string{"Kafka": kafkaBroker(t).plain, "gateway": gatewayAddr(t)}
	took := map[string]time.Duration{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, addr := range servers {
		c := quotaProducer(t, name, addr)
		all.Go(func() {
			d, err := sendAll(t.Context(), c)
			mu.Lock()
			defer mu.Unlock()
			took[name] = d
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	t.Logf("%d KiB at %d KiB/s: %v", (10+quotaSeconds)*bytesPerSecond>>10, bytesPerSecond>>10, took)
	for name, d := range took {
		require.Greater(t, d.Seconds(), float64(quotaSeconds), name)
	}
	// Throttles grow with what came in one burst, so a busy machine makes a difference.
	require.InDelta(t, took["Kafka"].Seconds(), took["gateway"].Seconds(), 4)
}

// quotaProducer sets the quota, and returns a producer that has it.
func quotaProducer(t *testing.T, name, addr string) *kgo.Client {
	t.Helper()
	const topic, id = "oracle-rate", "oracle-rate"
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID(id), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	admin := kadm.NewClient(c)
	_, err = admin.CreateTopic(t.Context(), 1, 1, nil, topic)
	require.NoError(t, err, name)
	user := id
	altered, err := admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &user}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: produceRate, Value: bytesPerSecond}},
	}})
	require.NoError(t, err, name)
	require.NoError(t, altered[0].Err, name)
	require.Eventually(t, func() bool {
		found, err := admin.DescribeClientQuotas(t.Context(), false, nil)
		return err == nil && len(found) > 0
	}, wait, pause, name)
	return c
}

// sendAll produces record by record.
func sendAll(ctx context.Context, c *kgo.Client) (time.Duration, error) {
	value := make([]byte, recordSize)
	began := time.Now()
	for range (10 + quotaSeconds) * bytesPerSecond / recordSize {
		if err := c.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
