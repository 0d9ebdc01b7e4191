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
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

const (
	benchPartitions = 4
	benchMessages   = 20_000 // a partition
	benchBatch      = 1000
)

// batch of 1,000 records of 1 KiB.
func benchRecords(b *testing.B) record.Batch {
	values := make([]string, benchBatch)
	for i := range values {
		values[i] = fmt.Sprintf("%01024d", i)
	}
	return recordtest.Values(values...).Batch(b)
}

// each runs f for every partition at once, b.N times in all.
func each(b *testing.B, f func(partition uint32) (messages int)) {
	b.SetBytes(benchPartitions * benchMessages * 1024)
	b.ReportAllocs()
	total := 0
	var mu sync.Mutex
	for b.Loop() {
		var work sync.WaitGroup
		for p := range uint32(benchPartitions) {
			work.Go(func() {
				n := f(p)
				mu.Lock()
				total += n
				mu.Unlock()
			})
		}
		work.Wait()
	}
	require.GreaterOrEqual(b, total, benchPartitions*benchMessages)
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "messages/s")
}

// Consuming four partitions, 1 KiB a record, about 1,000 records a request: the
// SDK alone, this store from the server, and this store from its cache.
func BenchmarkConsume(b *testing.B) {
	server := iggytest.Real(b, iggytest.NoFsync())
	box := newBox(b, server)
	topic, err := box.store.CreateTopic(context.Background(), backend.NewTopic{Name: "t", Partitions: benchPartitions})
	require.NoError(b, err)
	at := client.Topic{Stream: "kafka", Name: "t"}
	batch := benchRecords(b)
	ms := toMessages(b, batch)
	for p := range uint32(benchPartitions) {
		for range benchMessages / benchBatch {
			require.NoError(b, box.store.data.Send(context.Background(), at, p, ms))
		}
	}
	b.Run("SDK", func(b *testing.B) { benchSDK(b, server.Address(), at) })
	b.Run("client", func(b *testing.B) {
		each(b, func(p uint32) (n int) {
			for n < benchMessages {
				polled, err := box.store.data.Poll(context.Background(), at, p, iggcon.OffsetPollingStrategy(uint64(n)), benchBatch)
				if err != nil {
					b.Error(err)
					return n
				}
				n += len(polled.Messages)
			}
			return n
		})
	})
	read := func(b *testing.B) {
		bufs := make([][]byte, benchPartitions)
		each(b, func(p uint32) (n int) {
			id := backend.Partition{Topic: topic.ID, Index: int32(p)}
			if bufs[p] == nil {
				bufs[p] = make([]byte, 0, 1100*1024)
			}
			for n < benchMessages {
				got, _, err := box.store.Read(context.Background(), backend.Read{Partition: id, Offset: int64(n), MaxBytes: cap(bufs[p]), Buf: bufs[p]})
				if err != nil || len(got) == 0 {
					b.Error(err, len(got))
					return n
				}
				for len(got) > 0 {
					one, rest, err := record.Parse(got)
					if err != nil {
						b.Error(err)
					}
					n, got = int(one.LastOffset())+1, rest
				}
			}
			return n
		})
	}
	b.Run("polls", read)
	box.store.cfg.CacheBytes = 1 << 30
	for p := range int32(benchPartitions) {
		part, err := box.store.partition(context.Background(), backend.Partition{Topic: topic.ID, Index: p})
		require.NoError(b, err)
		for i := range int64(benchMessages / benchBatch) {
			one := benchRecords(b)
			one.SetBaseOffset(i * benchBatch)
			part.appended([]record.Batch{one}, (i+1)*benchBatch)
		}
	}
	b.Run("cache", read)
}

func benchSDK(b *testing.B, address string, at client.Topic) {
	clients := make([]iggcon.Client, benchPartitions)
	for i := range clients {
		c, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(address)))
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close() })
		_, err = c.LoginUser(iggytest.Username, iggytest.Password)
		require.NoError(b, err)
		clients[i] = c
	}
	stream, err := iggcon.NewIdentifier(at.Stream)
	require.NoError(b, err)
	topic, err := iggcon.NewIdentifier(at.Name)
	require.NoError(b, err)
	each(b, func(p uint32) (n int) {
		for n < benchMessages {
			polled, err := clients[p].PollMessages(stream, topic, iggcon.DefaultConsumer(), iggcon.OffsetPollingStrategy(uint64(n)), benchBatch, false, &p)
			if err != nil {
				b.Error(err)
				return n
			}
			n += len(polled.Messages)
		}
		return n
	})
}
