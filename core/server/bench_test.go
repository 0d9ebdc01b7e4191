package server

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// roundTrips sends one frame again and again, reading each answer.
func roundTrips(b *testing.B, r *running, request []byte) {
	nc, err := net.Dial("tcp", r.Addr().String())
	require.NoError(b, err)
	defer nc.Close()
	answer := make([]byte, 128<<20)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := nc.Write(request); err != nil {
			b.Fatal(err)
		}
		n, err := io.ReadAtLeast(nc, answer, 4)
		if err != nil {
			b.Fatal(err)
		}
		size := 4 + int(binary.BigEndian.Uint32(answer))
		if _, err := io.ReadFull(nc, answer[n:size]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	r := start(b, nil, dispatchtest.Heartbeat(nil))
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID = "group", "member"
	roundTrips(b, r, frame(req, 4, 1))
}

func produceOf(size int) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "topic"
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = make([]byte, size)
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

func benchmarkProduce(b *testing.B, size int) {
	r := start(b, nil, dispatchtest.Produce())
	b.SetBytes(int64(size))
	roundTrips(b, r, frame(produceOf(size), 9, 1))
}

func BenchmarkProduce1KiB(b *testing.B)  { benchmarkProduce(b, 1<<10) }
func BenchmarkProduce16KiB(b *testing.B) { benchmarkProduce(b, 16<<10) }
func BenchmarkProduce1MiB(b *testing.B)  { benchmarkProduce(b, 1<<20) }

func benchmarkFetch(b *testing.B, size int) {
	records := make([]byte, size)
	r := start(b, nil, dispatchtest.Fetch(
		func(context.Context, handler.Call, *kmsg.FetchRequest) ([]byte, error) { return records, nil }))
	b.SetBytes(int64(size))
	roundTrips(b, r, frame(kmsg.NewPtrFetchRequest(), 11, 1))
}

func BenchmarkFetch1KiB(b *testing.B) { benchmarkFetch(b, 1<<10) }
func BenchmarkFetch1MiB(b *testing.B) { benchmarkFetch(b, 1<<20) }
func BenchmarkFetch55MB(b *testing.B) { benchmarkFetch(b, 55<<20) }
