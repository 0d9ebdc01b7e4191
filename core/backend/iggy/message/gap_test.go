package message_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
)

// patience is how long a client may take for a record.
const patience = 30 * time.Second

// gappy answers reads as the backend does that finds messages and gaps in a log:
// gaps that have records behind them belong to their batches, and those between
// reads are made by AppendGap. All other methods are those of a store whose log is
// as long.
type gappy struct {
	backend.Backend
	batches map[int64][]byte // by the offset that they begin with, each ends where a gap or the next begins
}

const gapEnd = 12

func newGappy(t *testing.T) *gappy {
	var b message.Batcher
	build := func(from int64, messages ...message.Message) []byte {
		out, done := b.Append(nil, messages, message.Want{From: from, MaxBytes: math.MaxInt32})
		require.Equal(t, len(messages), done.Messages)
		return out
	}
	return &gappy{batches: map[int64][]byte{
		0: build(0, unreadable(0), native(1, "a", 1), unreadable(2), native(3, "b", 1), unreadable(4)),
		8: build(8, native(8, "c", 1), native(9, "d", 1)),
	}}
}

// Read answers one batch or one gap at a time.
func (g *gappy) Read(_ context.Context, r backend.Read) ([]byte, backend.Bounds, error) {
	bounds := backend.Bounds{End: gapEnd}
	switch o := r.Offset; {
	case o < 5:
		return bytes.Clone(g.batches[0]), bounds, nil
	case o < 8:
		return message.AppendGap(nil, o, 7), bounds, nil
	case o < 10:
		return bytes.Clone(g.batches[8]), bounds, nil
	case o < gapEnd:
		return message.AppendGap(nil, o, gapEnd-1), bounds, nil
	}
	return nil, bounds, nil
}

// Clients pass over gaps wherever they are: in front of the records of a batch,
// between and behind them, and those that AppendGap fills.
func TestClientsPassOverGaps(t *testing.T) {
	t.Parallel()
	g := newGappy(t)
	addr := gatewaytest.Start(t, fx.Decorate(func(b backend.Backend) backend.Backend { g.Backend = b; return g }))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	topic, err := g.CreateTopic(ctx, backend.NewTopic{Name: "gaps", Partitions: 1})
	require.NoError(t, err)
	length := message.AppendGap(nil, 0, gapEnd-1)
	batch, _, err := record.Parse(length)
	require.NoError(t, err)
	require.NoError(t, g.Append(ctx, []backend.Append{{Partition: backend.Partition{Topic: topic.ID}, Batch: batch}})[0].Err)
	for name, consume := range map[string]func(*testing.T, context.Context, string) []logged{
		"franz-go": consumeFranz, "sarama": consumeSarama, "kafka-go": consumeKafkaGo,
	} {
		var got []string
		for _, one := range consume(t, ctx, addr) {
			got = append(got, fmt.Sprintf("%s@%d", one.record.Value, one.offset))
		}
		require.Equal(t, []string{"a@1", "b@3", "c@8", "d@9"}, got, name)
	}
}

const readable = 4

func consumeFranz(t *testing.T, ctx context.Context, addr string) (got []logged) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("gaps"))
	require.NoError(t, err)
	defer c.Close()
	for len(got) < readable {
		fetches := c.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, logged{r.Offset, message.Record{Value: r.Value}}) })
	}
	return got
}

func consumeSarama(t *testing.T, ctx context.Context, addr string) (got []logged) {
	c, err := sarama.NewConsumer([]string{addr}, sarama.NewConfig())
	require.NoError(t, err)
	defer c.Close()
	p, err := c.ConsumePartition("gaps", 0, sarama.OffsetOldest)
	require.NoError(t, err)
	defer p.Close()
	for len(got) < readable {
		select {
		case m := <-p.Messages():
			got = append(got, logged{m.Offset, message.Record{Value: m.Value}})
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
	return got
}

func consumeKafkaGo(t *testing.T, ctx context.Context, addr string) (got []logged) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: "gaps", Partition: 0, MinBytes: 1, MaxBytes: 1 << 20})
	defer r.Close()
	for len(got) < readable {
		m, err := r.ReadMessage(ctx)
		require.NoError(t, err)
		got = append(got, logged{m.Offset, message.Record{Value: m.Value}})
	}
	return got
}
