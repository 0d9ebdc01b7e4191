// Package kafkago runs the scenarios with segmentio's kafka-go.
package kafkago

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestKafkaGo(t *testing.T) {
	traits := clienttest.Traits{NotIdempotent: true, EmptyReadsNull: true}
	clienttest.Run(t, traits, func(_ *testing.T, addr string) clienttest.Client {
		return open(addr, nil, nil)
	})
}

// open returns a client; it connects when it has to, over TLS and with a login where they are not nil.
func open(addr string, over *tls.Config, login sasl.Mechanism) *client {
	transport := &kafka.Transport{TLS: over, SASL: login}
	dialer := &kafka.Dialer{Timeout: dialTime, DualStack: true, TLS: over, SASLMechanism: login}
	return &client{addr, transport, dialer, &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}}
}

// dialTime is kafka-go's own.
const dialTime = 10 * time.Second

type client struct {
	addr      string
	transport *kafka.Transport
	dialer    *kafka.Dialer
	*kafka.Client
}

func (c *client) Close() error { c.transport.CloseIdleConnections(); return nil }

func (c *client) CreateTopic(ctx context.Context, topic string, partitions int) error {
	resp, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return resp.Errors[topic]
}

func (c *client) DeleteTopic(ctx context.Context, topic string) error {
	resp, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return resp.Errors[topic]
}

func (c *client) Produce(ctx context.Context, topic, codec string, records []clienttest.Record) error {
	writer := &kafka.Writer{
		Addr: kafka.TCP(c.addr), Transport: c.transport, Topic: topic, RequiredAcks: kafka.RequireAll,
		Balancer: &kafka.Hash{}, BatchTimeout: 10 * time.Millisecond,
	}
	if codec != "none" {
		if err := writer.Compression.UnmarshalText([]byte(codec)); err != nil {
			return err
		}
	}
	messages := make([]kafka.Message, len(records))
	for i, r := range records {
		messages[i] = kafka.Message{Key: r.Key, Value: r.Value, Time: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			messages[i].Headers = append(messages[i].Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
	}
	return errors.Join(writer.WriteMessages(ctx, messages...), writer.Close())
}

func (c *client) Read(ctx context.Context, topic string, from clienttest.Offsets, count int) ([]clienttest.Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan kafka.Message)
	for partition, offset := range from {
		go c.follow(ctx, topic, partition, offset, messages)
	}
	var out []clienttest.Record
	for len(out) < count {
		select {
		case m := <-messages:
			out = append(out, record(m))
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	return out, nil
}

// follow sends on the records of a partition from an offset on, until the context ends.
func (c *client) follow(ctx context.Context, topic string, partition int32, offset int64, to chan<- kafka.Message) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{c.addr}, Dialer: c.dialer, Topic: topic, Partition: int(partition), MaxBytes: 10 << 20, MaxWait: 200 * time.Millisecond,
	})
	defer reader.Close()
	if reader.SetOffset(offset) != nil {
		return
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return
		}
		select {
		case to <- message:
		case <-ctx.Done():
			return
		}
	}
}

func record(m kafka.Message) clienttest.Record {
	out := clienttest.Record{Partition: int32(m.Partition), Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time.UnixMilli()}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, clienttest.Header{Name: h.Key, Value: h.Value})
	}
	return out
}

func (c *client) OffsetsAt(ctx context.Context, topic string, at int64) (clienttest.Offsets, error) {
	var ask []kafka.OffsetRequest
	for partition := range 3 {
		ask = append(ask, kafka.TimeOffsetOf(partition, time.UnixMilli(at)))
	}
	resp, err := c.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: ask}})
	if err != nil {
		return nil, err
	}
	out := clienttest.Offsets{}
	for _, p := range resp.Topics[topic] {
		if p.Error != nil {
			return nil, p.Error
		}
		for offset := range p.Offsets {
			out[int32(p.Partition)] = offset
		}
	}
	return out, nil
}

func (c *client) Groups(ctx context.Context) ([]string, error) {
	resp, err := c.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, group := range resp.Groups {
		out = append(out, group.GroupID)
	}
	return out, resp.Error
}

func (c *client) Describe(ctx context.Context, group, topic string) (clienttest.Group, error) {
	resp, err := c.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return clienttest.Group{}, err
	}
	out := clienttest.Group{State: resp.Groups[0].GroupState}
	for _, m := range resp.Groups[0].Members {
		var partitions []int32
		for _, t := range m.MemberAssignments.Topics {
			if t.Topic == topic {
				for _, p := range t.Partitions {
					partitions = append(partitions, int32(p))
				}
			}
		}
		out.Members = append(out.Members, partitions)
	}
	return out, resp.Groups[0].Error
}

// member runs the generations of a kafka-go consumer group. Its Reader would hide the partitions.
type member struct {
	group    *kafka.ConsumerGroup
	messages chan kafka.Message
	owned    clienttest.Owned
	done     chan struct{}
	current  chan *kafka.Generation // holds the generation that runs
}

func (c *client) Join(_ context.Context, group, topic string) (clienttest.Member, error) {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: []string{c.addr}, Dialer: c.dialer, Topics: []string{topic}, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: 500 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	m := &member{group: g, messages: make(chan kafka.Message), done: make(chan struct{}), current: make(chan *kafka.Generation, 1)}
	go func() {
		defer close(m.done)
		for {
			generation, err := g.Next(context.Background())
			if errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err == nil {
				m.run(c, topic, generation)
			}
		}
	}()
	return m, nil
}

// run follows the partitions of a generation until it ends.
func (m *member) run(c *client, topic string, generation *kafka.Generation) {
	select {
	case <-m.current:
	default:
	}
	m.current <- generation
	m.owned.Remove(m.owned.List()...)
	for _, assigned := range generation.Assignments[topic] {
		partition := int32(assigned.ID)
		m.owned.Add(partition)
		generation.Start(func(ctx context.Context) {
			c.follow(ctx, topic, partition, assigned.Offset, m.messages)
			m.owned.Remove(partition)
		})
	}
}

func (m *member) Poll(ctx context.Context) (clienttest.Polled, error) {
	var out clienttest.Polled
	for _, message := range clienttest.Gather(ctx, m.messages) {
		out.Records = append(out.Records, record(message))
	}
	out.Partitions = m.owned.List()
	return out, nil
}

func (m *member) Commit(_ context.Context, topic string, positions clienttest.Offsets) error {
	offsets := map[int]int64{}
	for partition, offset := range positions {
		offsets[int(partition)] = offset
	}
	generation := <-m.current
	defer func() { m.current <- generation }()
	return generation.CommitOffsets(map[string]map[int]int64{topic: offsets})
}

func (m *member) Close() error {
	err := m.group.Close()
	<-m.done
	return err
}
