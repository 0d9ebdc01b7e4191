// Package sarama runs the scenarios with Sarama, at the oldest protocol version that people still pin, at one
// in the middle, and at the newest it knows.
package sarama

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) {
	// The ticker of Sarama's metrics library never stops, by design.
	clienttest.Main(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func TestSarama(t *testing.T) {
	t.Run("V1_0_0", func(t *testing.T) { run(t, sarama.V1_0_0_0) })
	t.Run("V2_8_0", func(t *testing.T) { run(t, sarama.V2_8_0_0) })
	t.Run("newest", func(t *testing.T) { run(t, sarama.MaxVersion) })
}

func run(t *testing.T, version sarama.KafkaVersion) {
	t.Parallel()
	traits := clienttest.Traits{Lacks: map[string]string{}}
	if !version.IsAtLeast(sarama.V2_1_0_0) {
		traits.Lacks["zstd"] = "Sarama refuses zstd below protocol version 2.1"
	}
	clienttest.Run(t, traits, func(t *testing.T, addr string) clienttest.Client {
		c, err := open(addr, settings(version))
		require.NoError(t, err)
		return c
	})
}

// settings are those of all clients here.
func settings(version sarama.KafkaVersion) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = version
	config.Metadata.AllowAutoTopicCreation = false
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll // which idempotence asks for
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.MaxWaitTime = 200 * time.Millisecond
	return config
}

// open connects.
func open(addr string, config *sarama.Config) (*client, error) {
	c, err := sarama.NewClient([]string{addr}, config)
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(c)
	return &client{addr, config, c, admin}, err
}

type client struct {
	addr   string
	config *sarama.Config
	sarama.Client
	admin sarama.ClusterAdmin
}

func (c *client) Close() error { return c.admin.Close() } // closes the client too

func (c *client) CreateTopic(_ context.Context, topic string, partitions int) error {
	return c.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false)
}

func (c *client) DeleteTopic(_ context.Context, topic string) error {
	return c.admin.DeleteTopic(topic)
}

func (c *client) Produce(_ context.Context, topic, codec string, records []clienttest.Record) error {
	config := *c.config
	if err := config.Producer.Compression.UnmarshalText([]byte(codec)); err != nil {
		return err
	}
	producer, err := sarama.NewSyncProducer([]string{c.addr}, &config)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		messages[i] = &sarama.ProducerMessage{Topic: topic, Key: encoder(r.Key), Value: encoder(r.Value), Timestamp: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			messages[i].Headers = append(messages[i].Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
	}
	if err := producer.SendMessages(messages); err != nil {
		_ = producer.Close()
		return err
	}
	return producer.Close()
}

// encoder keeps null apart from empty.
func encoder(b []byte) sarama.Encoder {
	if b == nil {
		return nil
	}
	return sarama.ByteEncoder(b)
}

func (c *client) Read(ctx context.Context, topic string, from clienttest.Offsets, count int) ([]clienttest.Record, error) {
	consumer, err := sarama.NewConsumerFromClient(c.Client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	messages := make(chan *sarama.ConsumerMessage)
	for partition, offset := range from {
		pc, err := consumer.ConsumePartition(topic, partition, offset)
		if err != nil {
			return nil, err
		}
		defer pc.AsyncClose()
		go forward(ctx, pc.Messages(), messages)
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

// forward sends on what comes in until the source or the context ends. Records beyond those asked for go nowhere.
func forward(ctx context.Context, from <-chan *sarama.ConsumerMessage, to chan<- *sarama.ConsumerMessage) {
	for m := range from {
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}
}

func record(m *sarama.ConsumerMessage) clienttest.Record {
	out := clienttest.Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Timestamp.UnixMilli()}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, clienttest.Header{Name: string(h.Key), Value: h.Value})
	}
	return out
}

func (c *client) OffsetsAt(_ context.Context, topic string, at int64) (clienttest.Offsets, error) {
	out := clienttest.Offsets{}
	for partition := range int32(3) {
		offset, err := c.GetOffset(topic, partition, at)
		if err != nil {
			return nil, err
		}
		out[partition] = offset
	}
	return out, nil
}

func (c *client) Groups(context.Context) ([]string, error) {
	groups, err := c.admin.ListConsumerGroups()
	var out []string
	for group := range groups {
		out = append(out, group)
	}
	return out, err
}

func (c *client) Describe(_ context.Context, group, topic string) (clienttest.Group, error) {
	groups, err := c.admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return clienttest.Group{}, err
	}
	if groups[0].Err != sarama.ErrNoError {
		return clienttest.Group{}, groups[0].Err
	}
	out := clienttest.Group{State: groups[0].State}
	for _, m := range groups[0].Members {
		var partitions []int32
		if len(m.MemberAssignment) > 0 { // it has none while the group rebalances
			assignment, err := m.GetMemberAssignment()
			if err != nil {
				return out, err
			}
			partitions = assignment.Topics[topic]
		}
		out.Members = append(out.Members, partitions)
	}
	return out, nil
}
