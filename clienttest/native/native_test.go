// Package native tests that native Iggy clients and Kafka clients read what the
// other wrote.
package native

import (
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the SDK tells the standard log about every login
	goleak.VerifyTestMain(m)
}

// both is a gateway, the Iggy server behind it, and a client of each kind.
type both struct {
	*testing.T
	iggy  *tcp.IggyTcpClient
	kafka *kgo.Client
	addr  string
}

const stream = "kafka"

func start(t *testing.T, opts ...kgo.Opt) *both {
	t.Parallel()
	server := iggytest.Real(t)
	b := &both{T: t, addr: gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), stream))}
	var err error
	b.iggy, err = tcp.NewIggyTcpClient(tcp.WithServerAddress(server.Address()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.iggy.Close()) })
	_, err = b.iggy.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	b.kafka = b.client(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	return b
}

func (b *both) client(opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.addr), kgo.FetchMaxWait(500*time.Millisecond))...)
	require.NoError(b, err)
	b.Cleanup(c.Close)
	return c
}

func (b *both) create(topic string, partitions int32) {
	b.Helper()
	_, err := kadm.NewClient(b.kafka).CreateTopic(b.Context(), partitions, 1, nil, topic)
	require.NoError(b, err)
}

func name(s string) iggcon.Identifier {
	id, err := iggcon.NewIdentifier(s)
	if err != nil {
		panic(err)
	}
	return id
}

// send writes messages with the SDK.
func (b *both) send(topic string, partition uint32, messages ...iggcon.IggyMessage) {
	b.Helper()
	require.NoError(b, b.iggy.SendMessages(name(stream), name(topic), iggcon.PartitionId(partition), messages))
}

// poll reads a partition from its start with the SDK.
func (b *both) poll(topic string, partition uint32) []iggcon.IggyMessage {
	b.Helper()
	polled, err := b.iggy.PollMessages(name(stream), name(topic), iggcon.DefaultConsumer(), iggcon.OffsetPollingStrategy(0), 10_000, false, &partition)
	require.NoError(b, err)
	return polled.Messages
}

// consume reads n records of a partition from its start.
func (b *both) consume(topic string, partition int32, n int) []*kgo.Record {
	b.Helper()
	c := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	var all []*kgo.Record
	for len(all) < n {
		fetches := c.PollFetches(b.Context())
		require.NoError(b, fetches.Err())
		all = append(all, fetches.Records()...)
	}
	require.Len(b, all, n)
	return all
}

func message(t testing.TB, payload string, headers ...iggcon.HeaderEntry) iggcon.IggyMessage {
	m, err := iggcon.NewIggyMessage([]byte(payload), iggcon.WithUserHeaders(headers))
	require.NoError(t, err)
	return m
}

func header(t testing.TB, key string, kind iggcon.HeaderKind, value string) iggcon.HeaderEntry {
	k, err := iggcon.NewHeaderKeyString(key)
	require.NoError(t, err)
	return iggcon.HeaderEntry{Key: k, Value: iggcon.HeaderValue{Kind: kind, Value: []byte(value)}}
}

// What the SDK writes has no key, and its headers under their own names.
func TestKafkaReadsNative(t *testing.T) {
	b := start(t)
	b.create("t", 2)
	sent := message(t, "hello", header(t, "trace", iggcon.String, "abc"), header(t, "n", iggcon.Int32, "\x01\x00\x00\x00"))
	b.send("t", 1, message(t, "first"), sent)
	got := b.consume("t", 1, 2)
	require.Nil(t, got[0].Key)
	require.Equal(t, "first", string(got[0].Value))
	require.Empty(t, got[0].Headers)
	require.Equal(t, "hello", string(got[1].Value))
	require.ElementsMatch(t, []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "n", Value: []byte("\x01\x00\x00\x00")}}, got[1].Headers)
	require.Equal(t, int64(sent.Header.OriginTimestamp/1000), got[1].Timestamp.UnixMilli())
}

// A topic that the SDK makes is a Kafka topic, and goes with it.
func TestTopicsOfNativeClients(t *testing.T) {
	b := start(t)
	_, err := b.iggy.CreateTopic(name(stream), "made-natively", 3, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 1<<63, nil)
	require.NoError(t, err)
	b.send("made-natively", 2, message(t, "x"))
	require.Equal(t, "x", string(b.consume("made-natively", 2, 1)[0].Value))
	admin := kadm.NewClient(b.kafka)
	described, err := admin.ListTopics(b.Context(), "made-natively")
	require.NoError(t, err)
	require.Len(t, described["made-natively"].Partitions, 3)
	require.NoError(t, b.iggy.CreatePartitions(name(stream), name("made-natively"), 2))
	require.Eventually(t, func() bool {
		described, err := admin.ListTopics(b.Context(), "made-natively")
		return err == nil && len(described["made-natively"].Partitions) == 5
	}, 30*time.Second, 50*time.Millisecond, "partitions that the SDK added are seen")
	require.NoError(t, b.iggy.DeleteTopic(name(stream), name("made-natively")))
	require.Eventually(t, func() bool {
		all, err := admin.ListTopics(b.Context())
		return err == nil && !all.Has("made-natively")
	}, 30*time.Second, 50*time.Millisecond, "the topic is gone")
}

// A Kafka record is a message with its value as payload; key and headers are
// user headers.
func TestNativeReadsKafka(t *testing.T) {
	b := start(t)
	b.create("t", 1)
	at := time.UnixMilli(1_700_000_000_123)
	require.NoError(t, b.kafka.ProduceSync(t.Context(), &kgo.Record{
		Topic: "t", Key: []byte("k"), Value: []byte("v"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}},
	}, &kgo.Record{Topic: "t", Value: []byte("plain")}).FirstErr())
	got := b.poll("t", 0)
	require.Len(t, got, 2)
	require.Equal(t, "v", string(got[0].Payload))
	require.EqualValues(t, at.UnixMicro(), got[0].Header.OriginTimestamp)
	headers, err := iggcon.DeserializeHeaders(got[0].UserHeaders)
	require.NoError(t, err)
	values := map[string]string{}
	for _, h := range headers {
		values[string(h.Key.Value)] = string(h.Value.Value)
	}
	require.Equal(t, "k", values["kafka.key"])
	require.Equal(t, "1", values["kafka.h.h"])
	require.Len(t, values["kafka.v"], 1)
	require.Equal(t, "plain", string(got[1].Payload))
}

// Both write to one partition at the same time: every Kafka producer is told the
// true offset, and both kinds of consumers see one log.
func TestInterleaved(t *testing.T) {
	b := start(t, kgo.ProducerLinger(0))
	b.create("t", 1)
	const each = 300
	offsets := map[string]int64{} // by value
	var mu sync.Mutex
	var work sync.WaitGroup
	work.Go(func() {
		for i := range each {
			b.send("t", 0, message(t, fmt.Sprint("native ", i)))
		}
	})
	for i := range each {
		r := &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "kafka %d", i)}
		work.Add(1)
		b.kafka.Produce(t.Context(), r, func(r *kgo.Record, err error) {
			defer work.Done()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			offsets[string(r.Value)] = r.Offset
		})
		if i%7 == 0 {
			require.NoError(t, b.kafka.Flush(t.Context()))
		}
	}
	work.Wait()
	records, messages := b.consume("t", 0, 2*each), b.poll("t", 0)
	require.Len(t, messages, 2*each)
	next := map[string]int{}
	for i, r := range records {
		require.EqualValues(t, i, r.Offset)
		require.Equal(t, string(messages[i].Payload), string(r.Value))
		who, n, _ := strings.Cut(string(r.Value), " ")
		require.Equal(t, fmt.Sprint(next[who]), n, "the order of one writer")
		next[who]++
		if at, ours := offsets[string(r.Value)]; ours {
			require.Equal(t, r.Offset, at, "the offset that the producer was told")
		}
	}
	require.Equal(t, map[string]int{"native": each, "kafka": each}, next)
	require.Len(t, offsets, each)
}

// A consumer that waits at the end of a log is woken by both kinds of writers.
func TestTail(t *testing.T) {
	b := start(t)
	b.create("t", 1)
	c := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	var native, kafka time.Duration
	const rounds = 20
	arrival := func(want string, write func()) time.Duration {
		began := time.Now()
		write()
		fetches := c.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		require.Len(t, fetches.Records(), 1)
		require.Equal(t, want, string(fetches.Records()[0].Value))
		return time.Since(began)
	}
	for i := range rounds {
		v := fmt.Sprint(i)
		native += arrival(v, func() { b.send("t", 0, message(t, v)) })
		kafka += arrival(v, func() {
			require.NoError(t, b.kafka.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(v)}).FirstErr())
		})
	}
	t.Logf("mean time from write to arrival: native %v, through the gateway %v", native/rounds, kafka/rounds)
}
