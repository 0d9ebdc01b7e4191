package iggy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// Clients get past what cannot be read: at the start, in the middle, and at the
// end of a log, where there is nothing behind it yet.
func TestClientsPassOverUnreadableOffsets(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t)
	addr := gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "kafka"), gatewaytest.Config(func(c *app.Config) {
		c.Iggy.CacheBytes = 0 // what was just produced would be read from there
	}))
	producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer producer.Close()
	produce := func(from, to int) {
		for i := from; i < to; i++ {
			r := &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)}
			require.NoError(t, producer.ProduceSync(t.Context(), r).FirstErr())
			require.EqualValues(t, i, r.Offset)
		}
	}
	produce(0, 10)
	for _, offset := range []uint64{0, 4, 5, 8, 9} {
		require.NoError(t, server.Unreadable("kafka", "t", 0, offset, 4100))
	}
	for name, consume := range map[string]func(t *testing.T, addr string) <-chan string{
		"franz-go": consumeFranz, "sarama": consumeSarama, "kafka-go": consumeKafkaGo,
	} {
		got := consume(t, addr)
		for _, want := range []string{"1", "2", "3", "6", "7"} {
			requireNext(t, name, got, want)
		}
		defer func() { requireNext(t, name, got, "10") }()
	}
	// They wait in front of the end, and not in front of the gap.
	produce(10, 11)
}

func requireNext(t *testing.T, name string, got <-chan string, want string) {
	t.Helper()
	select {
	case v := <-got:
		require.Equal(t, want, v, name)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not get to %s", name, want)
	}
}

func consumeFranz(t *testing.T, addr string) <-chan string {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return values(t, func(ctx context.Context, out func(string)) {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { out(string(r.Value)) })
	})
}

func consumeSarama(t *testing.T, addr string) <-chan string {
	cfg := sarama.NewConfig()
	cfg.Version = sarama.V2_8_0_0
	consumer, err := sarama.NewConsumer([]string{addr}, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = consumer.Close() })
	part, err := consumer.ConsumePartition("t", 0, sarama.OffsetOldest)
	require.NoError(t, err)
	t.Cleanup(func() { _ = part.Close() })
	return values(t, func(ctx context.Context, out func(string)) {
		select {
		case m := <-part.Messages():
			if m != nil {
				out(string(m.Value))
			}
		case <-ctx.Done():
		}
	})
}

func consumeKafkaGo(t *testing.T, addr string) <-chan string {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: "t", MaxWait: 100 * time.Millisecond})
	t.Cleanup(func() { _ = reader.Close() })
	return values(t, func(ctx context.Context, out func(string)) {
		if m, err := reader.ReadMessage(ctx); err == nil {
			out(string(m.Value))
		}
	})
}

// values calls read again and again until the test ends.
func values(t *testing.T, read func(ctx context.Context, out func(string))) <-chan string {
	ctx, cancel := context.WithCancel(context.Background())
	got, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			read(ctx, func(v string) { got <- v })
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return got
}
