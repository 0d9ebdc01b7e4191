package measured

import (
	"context"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// Topic implements backend.Topics.
func (b *Backend) Topic(ctx context.Context, name string) (backend.Topic, error) {
	ctx, c := b.begin(ctx, b.ops.topic)
	v, err := b.Backend.Topic(ctx, name)
	c.end(err)
	return v, err
}

// TopicByID implements backend.Topics.
func (b *Backend) TopicByID(ctx context.Context, id uuid.UUID) (backend.Topic, error) {
	ctx, c := b.begin(ctx, b.ops.topicByID)
	v, err := b.Backend.TopicByID(ctx, id)
	c.end(err)
	return v, err
}

// AllTopics implements backend.Topics.
func (b *Backend) AllTopics(ctx context.Context) ([]backend.Topic, error) {
	ctx, c := b.begin(ctx, b.ops.allTopics)
	v, err := b.Backend.AllTopics(ctx)
	c.end(err)
	return v, err
}

// CreateTopic implements backend.Topics.
func (b *Backend) CreateTopic(ctx context.Context, t backend.NewTopic) (backend.Topic, error) {
	ctx, c := b.begin(ctx, b.ops.createTopic)
	v, err := b.Backend.CreateTopic(ctx, t)
	c.end(err)
	return v, err
}

// DeleteTopic implements backend.Topics.
func (b *Backend) DeleteTopic(ctx context.Context, id uuid.UUID) error {
	ctx, c := b.begin(ctx, b.ops.deleteTopic)
	err := b.Backend.DeleteTopic(ctx, id)
	c.end(err)
	return err
}

// GrowTopic implements backend.Topics.
func (b *Backend) GrowTopic(ctx context.Context, id uuid.UUID, total int32) error {
	ctx, c := b.begin(ctx, b.ops.growTopic)
	err := b.Backend.GrowTopic(ctx, id, total)
	c.end(err)
	return err
}

// AlterTopic implements backend.Topics.
func (b *Backend) AlterTopic(ctx context.Context, id uuid.UUID, change func(map[string]string) (map[string]string, error)) error {
	ctx, c := b.begin(ctx, b.ops.alterTopic)
	err := b.Backend.AlterTopic(ctx, id, change)
	c.end(err)
	return err
}
