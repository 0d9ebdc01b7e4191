package iggy

import (
	"context"
	"fmt"
	"sync"
	"testing"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/message"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// Producing to four partitions, 1 KiB a record: the SDK alone with so many
// messages a request and a connection for each partition, and this store with so
// many records a batch and one or more producers a partition.
func BenchmarkProduce(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		total := min(20_000, 2_000*n) // messages of a partition
		b.Run(fmt.Sprintf("%d/SDK", n), func(b *testing.B) { benchProduceSDK(b, n, total) })
		for _, c := range []struct {
			name      string
			producers int
			change    func(*Config)
		}{
			{"1 producer", 1, func(*Config) {}},
			{"4 producers", 4, func(*Config) {}},
			{"4 producers, sole writer", 4, func(c *Config) { c.SoleWriter = true }},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) { benchAppend(b, n, total, c.producers, c.change) })
		}
	}
}

func benchValues(n int) recordtest.Batch {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%01024d", i)
	}
	return recordtest.Values(values...)
}

// inParallel runs f for each producer of each partition, b.N times in all, and
// reports messages per second.
func inParallel(b *testing.B, producers, total int, f func(partition uint32, messages int)) {
	b.SetBytes(int64(benchPartitions * total * 1024))
	b.ReportAllocs()
	for b.Loop() {
		var work sync.WaitGroup
		for i := range benchPartitions * producers {
			work.Go(func() { f(uint32(i%benchPartitions), total/producers) })
		}
		work.Wait()
	}
	b.ReportMetric(float64(benchPartitions*total*b.N)/b.Elapsed().Seconds(), "messages/s")
}

func benchAppend(b *testing.B, n, total, producers int, change func(*Config)) {
	box := newBox(b, iggytest.Real(b, iggytest.NoFsync()), change)
	topic, err := box.store.CreateTopic(context.Background(), backend.NewTopic{Name: "t", Partitions: benchPartitions})
	require.NoError(b, err)
	raw := benchValues(n).Bytes()
	inParallel(b, producers, total, func(partition uint32, messages int) {
		batch, _, err := record.Parse(append([]byte(nil), raw...))
		for ; messages > 0 && err == nil; messages -= n {
			err = box.store.Append(context.Background(), []backend.Append{
				{Partition: backend.Partition{Topic: topic.ID, Index: int32(partition)}, Batch: batch},
			})[0].Err
		}
		if err != nil {
			b.Error(err)
		}
	})
}

func benchProduceSDK(b *testing.B, n, total int) {
	server := iggytest.Real(b, iggytest.NoFsync())
	box := newBox(b, server)
	_, err := box.store.CreateTopic(context.Background(), backend.NewTopic{Name: "t", Partitions: benchPartitions})
	require.NoError(b, err)
	sdk := make([]iggcon.Client, benchPartitions)
	for i := range sdk {
		c, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(server.Address())))
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close() })
		_, err = c.LoginUser(iggytest.Username, iggytest.Password)
		require.NoError(b, err)
		sdk[i] = c
	}
	stream, _ := iggcon.NewIdentifier("kafka")
	topic, _ := iggcon.NewIdentifier("t")
	messages := toMessages(b, benchValues(n).Batch(b))
	inParallel(b, 1, total, func(partition uint32, left int) {
		for ; left > 0; left -= n {
			if err := sdk[partition].SendMessages(stream, topic, iggcon.PartitionId(partition), messages); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// discards takes sends and keeps nothing.
type discards struct {
	client.Writer
	end map[uint32]uint64
}

func (d *discards) SendBy(_ context.Context, connection uint64, _ client.Topic, partition uint32, messages []message.Message) (uint64, error) {
	d.end[partition] += uint64(len(messages))
	return connection, nil
}

func (d *discards) Poll(_ context.Context, _ client.Topic, partition uint32, _ iggcon.PollingStrategy, _ uint32) (client.Polled, error) {
	return client.Polled{Current: d.end[partition] - 1}, nil
}

// What Append itself costs: no server.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 16, 1000} {
		for _, idempotent := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d records, idempotent %v", n, idempotent), func(b *testing.B) {
				f := newWriterFakes(b, 1)
				require.NoError(b, f.append(0, recordtest.Values("x")).Err)
				f.Store.data = &discards{f.writes, map[uint32]uint64{0: 1}}
				raw := benchValues(n)
				if idempotent {
					raw = raw.From(1, 0, 0)
				}
				batch := raw.Batch(b)
				b.SetBytes(int64(len(batch.Bytes)))
				b.ReportAllocs()
				for b.Loop() {
					got := f.Append(context.Background(), []backend.Append{{Partition: f.id(0), Batch: batch}})
					if got[0].Err != nil {
						b.Fatal(got[0].Err)
					}
					if idempotent {
						batch.BaseSequence = int32((int64(batch.BaseSequence) + int64(n)) & (1<<31 - 1))
					}
				}
			})
		}
	}
}
