package sarama

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/iggykafka/gateway/clienttest"
)

// member is the handler of a Sarama consumer group. Sarama calls it for each generation: Setup, then one
// ConsumeClaim a partition, then Cleanup.
type member struct {
	group    sarama.ConsumerGroup
	messages chan *sarama.ConsumerMessage
	owned    clienttest.Owned
	stop     func() error

	mu      sync.Mutex
	session sarama.ConsumerGroupSession
}

func (c *client) Join(_ context.Context, group, topic string) (clienttest.Member, error) {
	g, err := sarama.NewConsumerGroup([]string{c.addr}, group, c.config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{group: g, messages: make(chan *sarama.ConsumerMessage)}
	done := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil {
			// An error ends a generation only, such as when no broker can be reached for a while.
			if err = g.Consume(ctx, []string{topic}, m); err != nil {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
		done <- err
	}()
	m.stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-done, g.Close())
	})
	return m, nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = session
	for _, partitions := range session.Claims() {
		m.owned.Add(partitions...)
	}
	return nil
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	for _, partitions := range session.Claims() {
		m.owned.Remove(partitions...)
	}
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		select {
		case m.messages <- message:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
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
	m.mu.Lock()
	defer m.mu.Unlock()
	for partition, offset := range positions {
		m.session.MarkOffset(topic, partition, offset, "")
	}
	m.session.Commit()
	return nil // Sarama reports a failed commit on the Errors channel only; the scenario checks the outcome
}

func (m *member) Close() error { return m.stop() }
