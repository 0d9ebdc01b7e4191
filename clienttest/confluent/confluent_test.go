//go:build cgo

// Package confluent runs the scenarios with confluent-kafka-go, and so with librdkafka.
package confluent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestConfluent(t *testing.T) {
	clienttest.Run(t, clienttest.Traits{}, func(t *testing.T, addr string) clienttest.Client {
		c, err := open(kafka.ConfigMap{"bootstrap.servers": addr}, "")
		require.NoError(t, err)
		return c
	})
}

type client struct {
	config kafka.ConfigMap // of each connection: where to, and how to log in
	token  string          // or ""
	*kafka.AdminClient
}

// open returns a client whose connections have these settings, and this token.
func open(config kafka.ConfigMap, token string) (*client, error) {
	c := &client{config: config, token: token}
	admin, err := kafka.NewAdminClient(&config)
	c.AdminClient = admin
	if err == nil {
		err = c.hand(admin)
	}
	return c, err
}

// hand gives the token to a handle of librdkafka that asks for one.
func (c *client) hand(to interface {
	SetOAuthBearerToken(kafka.OAuthBearerToken) error
}) error {
	if c.token == "" {
		return nil
	}
	return to.SetOAuthBearerToken(kafka.OAuthBearerToken{TokenValue: c.token, Principal: "client", Expiration: time.Now().Add(time.Hour)})
}

// with returns the settings, and more.
func (c *client) with(more kafka.ConfigMap) *kafka.ConfigMap {
	all := maps.Clone(c.config)
	maps.Copy(all, more)
	return &all
}

// producer opens one.
func (c *client) producer(more kafka.ConfigMap) (*kafka.Producer, error) {
	producer, err := kafka.NewProducer(c.with(more))
	if err == nil {
		err = c.hand(producer)
	}
	return producer, err
}

func (c *client) Close() error { c.AdminClient.Close(); return nil }

func (c *client) CreateTopic(ctx context.Context, topic string, partitions int) error {
	return topicError(c.CreateTopics(ctx, []kafka.TopicSpecification{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}}))
}

func (c *client) DeleteTopic(ctx context.Context, topic string) error {
	return topicError(c.DeleteTopics(ctx, []string{topic}))
}

func topicError(results []kafka.TopicResult, err error) error {
	if err == nil && results[0].Error.Code() != kafka.ErrNoError {
		err = results[0].Error
	}
	return err
}

func (c *client) Produce(ctx context.Context, topic, codec string, records []clienttest.Record) error {
	producer, err := c.producer(kafka.ConfigMap{"enable.idempotence": true, "compression.type": codec})
	if err != nil {
		return err
	}
	defer producer.Close()
	answers := make(chan kafka.Event, len(records))
	for _, r := range records {
		message := &kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
			Key:            r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Time), TimestampType: kafka.TimestampCreateTime,
		}
		for _, h := range r.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
		if err := producer.Produce(message, answers); err != nil {
			return err
		}
	}
	for range records {
		select {
		case answer := <-answers:
			if err := answer.(*kafka.Message).TopicPartition.Error; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// consumer opens a consumer that never commits by itself.
func (c *client) consumer(group string) (*kafka.Consumer, error) {
	consumer, err := kafka.NewConsumer(c.with(kafka.ConfigMap{
		"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": false,
		"heartbeat.interval.ms": 500, "fetch.wait.max.ms": 200,
	}))
	if err == nil {
		err = c.hand(consumer)
	}
	return consumer, err
}

func (c *client) Read(ctx context.Context, topic string, from clienttest.Offsets, count int) ([]clienttest.Record, error) {
	consumer, err := c.consumer("unused") // librdkafka wants a name even where no group is joined
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	if err := consumer.Assign(partitions(topic, from)); err != nil {
		return nil, err
	}
	var out []clienttest.Record
	for len(out) < count {
		got, err := poll(ctx, consumer)
		if err != nil || ctx.Err() != nil {
			return out, errors.Join(err, ctx.Err())
		}
		out = append(out, got...)
	}
	return out, nil
}

// poll waits at most a second for a record and takes what follows at once.
func poll(ctx context.Context, consumer *kafka.Consumer) ([]clienttest.Record, error) {
	var out []clienttest.Record
	for wait := 1000; ctx.Err() == nil; {
		switch event := consumer.Poll(wait).(type) {
		case nil:
			return out, nil
		case kafka.Error:
			if event.IsFatal() {
				return out, event
			} // others are for information: librdkafka goes on by itself
		case *kafka.Message:
			if event.TopicPartition.Error != nil {
				return out, event.TopicPartition.Error
			}
			out, wait = append(out, record(event)), 10
		}
	}
	return out, ctx.Err()
}

func record(m *kafka.Message) clienttest.Record {
	out := clienttest.Record{
		Partition: m.TopicPartition.Partition, Offset: int64(m.TopicPartition.Offset),
		Key: m.Key, Value: m.Value, Time: m.Timestamp.UnixMilli(),
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, clienttest.Header{Name: h.Key, Value: h.Value})
	}
	return out
}

func partitions(topic string, offsets clienttest.Offsets) []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for _, partition := range slices.Sorted(maps.Keys(offsets)) {
		out = append(out, kafka.TopicPartition{Topic: &topic, Partition: partition, Offset: kafka.Offset(offsets[partition])})
	}
	return out
}

func (c *client) OffsetsAt(_ context.Context, topic string, at int64) (clienttest.Offsets, error) {
	consumer, err := c.consumer("unused")
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	found, err := consumer.OffsetsForTimes(partitions(topic, clienttest.Offsets{0: at, 1: at, 2: at}), 10_000)
	out := clienttest.Offsets{}
	for _, p := range found {
		out[p.Partition] = int64(p.Offset)
	}
	return out, err
}

func (c *client) Groups(ctx context.Context) ([]string, error) {
	listed, err := c.ListConsumerGroups(ctx)
	var out []string
	for _, group := range listed.Valid {
		out = append(out, group.GroupID)
	}
	return out, err
}

func (c *client) Describe(ctx context.Context, group, topic string) (clienttest.Group, error) {
	described, err := c.DescribeConsumerGroups(ctx, []string{group})
	if err != nil {
		return clienttest.Group{}, err
	}
	one := described.ConsumerGroupDescriptions[0]
	if one.Error.Code() != kafka.ErrNoError {
		return clienttest.Group{}, one.Error
	}
	out := clienttest.Group{State: strings.TrimPrefix(one.State.String(), "ConsumerGroupState")}
	for _, m := range one.Members {
		var assigned []int32
		for _, p := range m.Assignment.TopicPartitions {
			if *p.Topic == topic {
				assigned = append(assigned, p.Partition)
			}
		}
		out.Members = append(out.Members, assigned)
	}
	return out, nil
}

func (c *client) Join(_ context.Context, group, topic string) (clienttest.Member, error) {
	consumer, err := c.consumer(group)
	if err != nil {
		return nil, err
	}
	return member{consumer}, consumer.Subscribe(topic, nil)
}

type member struct{ *kafka.Consumer }

func (m member) Poll(ctx context.Context) (clienttest.Polled, error) {
	records, err := poll(ctx, m.Consumer)
	if err != nil {
		return clienttest.Polled{}, err
	}
	out := clienttest.Polled{Records: records}
	assigned, err := m.Assignment()
	for _, p := range assigned {
		out.Partitions = append(out.Partitions, p.Partition)
	}
	return out, err
}

func (m member) Commit(_ context.Context, topic string, positions clienttest.Offsets) error {
	stored, err := m.CommitOffsets(partitions(topic, positions))
	for _, p := range stored {
		err = errors.Join(err, p.Error)
	}
	return err
}

func (m member) Close() error {
	if m.IsClosed() {
		return nil
	}
	return m.Consumer.Close()
}
