package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"

	"github.com/iggykafka/gateway/core/backend"
)

// maxPartitions is how many partitions are made in one request. The server takes
// up to 1,000, but makes them one by one, at some milliseconds each, while the
// request timeout runs.
const maxPartitions = 250

// perPartition is what a partition that is made or deleted adds to the time that
// the server may take for a request: it sees to them one by one, and a disk under
// load has been seen to take 15 ms for one.
const perPartition = 40 * time.Millisecond

// EnsureStream is Topics.
func (c *Client) EnsureStream(ctx context.Context, name string) (iggcon.Stream, error) {
	found, err := c.stream(ctx, name)
	if Code(err) != ierror.StreamIdNotFoundCode {
		return found, err
	}
	var made *iggcon.StreamDetails
	err = c.change(ctx, 0, opCreateStream, func(sdk iggcon.Client) (err error) {
		made, err = sdk.CreateStream(name)
		return err
	})
	switch {
	case Code(err) == ierror.StreamNameAlreadyExistsCode:
		return c.stream(ctx, name)
	case err != nil:
		return iggcon.Stream{}, err
	}
	return made.Stream, nil
}

func (c *Client) stream(ctx context.Context, name string) (iggcon.Stream, error) {
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		return iggcon.Stream{}, err
	}
	var found *iggcon.StreamDetails
	err = c.read(ctx, c.admin, opGetStream, func(sdk iggcon.Client) (err error) {
		found, err = sdk.GetStream(id)
		return err
	})
	if err != nil {
		return iggcon.Stream{}, err
	}
	return found.Stream, nil
}

// Topics is Topics.
func (c *Client) Topics(ctx context.Context, stream string) ([]iggcon.Topic, error) {
	id, err := iggcon.NewIdentifier(stream)
	if err != nil {
		return nil, err
	}
	var topics []iggcon.Topic
	err = c.read(ctx, c.admin, opGetTopics, func(sdk iggcon.Client) (err error) {
		topics, err = sdk.GetTopics(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return topics, nil
}

// Topic is Topics.
func (c *Client) Topic(ctx context.Context, t Topic) (*iggcon.TopicDetails, error) {
	stream, topic, err := t.ids()
	if err != nil {
		return nil, err
	}
	var found *iggcon.TopicDetails
	err = c.read(ctx, c.admin, opGetTopic, func(sdk iggcon.Client) (err error) {
		found, err = sdk.GetTopic(stream, topic)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// CreateTopic is Topics. A *Lost says that the topic may be there, with its first
// partitions.
func (c *Client) CreateTopic(ctx context.Context, t Topic, s TopicSettings) (*iggcon.TopicDetails, error) {
	stream, _, err := t.ids()
	if err != nil {
		return nil, err
	}
	first := min(s.Partitions, maxPartitions)
	var made *iggcon.TopicDetails
	err = c.change(ctx, first, opCreateTopic, func(sdk iggcon.Client) (err error) {
		made, err = sdk.CreateTopic(stream, t.Name, first,
			iggcon.CompressionAlgorithmNone, s.Expiry, sizeOf(s.MaxSize), nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Partitions <= maxPartitions {
		return made, nil
	}
	if err := c.grow(ctx, t, s.Partitions); err != nil {
		return nil, c.undo(ctx, t, s.Partitions, err)
	}
	return c.Topic(ctx, t)
}

// undo deletes a topic that could not get all of its partitions.
func (c *Client) undo(ctx context.Context, t Topic, partitions uint32, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.RequestTimeout+time.Duration(partitions)*perPartition)
	defer cancel()
	if err := c.DeleteTopic(ctx, t); err != nil && Code(err) != ierror.TopicIdNotFoundCode {
		return fmt.Errorf("topic %s of stream %s was left with too few partitions (%w): %w", t.Name, t.Stream, err, cause)
	}
	// What was lost on the way is settled: the topic is not there.
	if errors.Is(cause, backend.ErrOutcomeUnknown) {
		return unavailable(cause)
	}
	return cause
}

// growTries is how often in a row a topic may be without the partitions that were
// asked for.
const growTries = 5

// grow adds partitions until there are total, in requests that the server takes.
// What is lost on the way is settled and looked at.
func (c *Client) grow(ctx context.Context, t Topic, total uint32) error {
	stream, topic, err := t.ids()
	if err != nil {
		return err
	}
	had, vain := uint32(0), 0
	for {
		now, err := c.Topic(ctx, t)
		if err != nil || now.PartitionsCount >= total {
			return err
		}
		if vain++; now.PartitionsCount > had {
			had, vain = now.PartitionsCount, 0
		}
		if vain == growTries {
			return unavailable(fmt.Errorf("topic %s of stream %s has %d of %d partitions, and gets no more", t.Name, t.Stream, had, total))
		}
		if err := sleep(ctx, time.Duration(vain)*settleFirst); err != nil {
			return err
		}
		more := min(total-now.PartitionsCount, maxPartitions)
		err = c.change(ctx, more, opCreatePartitions, func(sdk iggcon.Client) error { return sdk.CreatePartitions(stream, topic, more) })
		var lost *Lost
		if errors.As(err, &lost) {
			err = c.Settle(ctx, lost)
		}
		if err != nil {
			return err
		}
	}
}

// UpdateTopic is Topics.
func (c *Client) UpdateTopic(ctx context.Context, t Topic, expiry iggcon.Duration, maxSize uint64) error {
	stream, topic, err := t.ids()
	if err != nil {
		return err
	}
	now, err := c.Topic(ctx, t)
	if err != nil {
		return err
	}
	var replicas *uint8
	if now.ReplicationFactor != 0 {
		replicas = &now.ReplicationFactor
	}
	return c.change(ctx, 0, opUpdateTopic, func(sdk iggcon.Client) error {
		return sdk.UpdateTopic(stream, topic, now.Name, iggcon.CompressionAlgorithm(now.CompressionAlgorithm),
			expiry, sizeOf(maxSize), replicas)
	})
}

// AddPartitions is Topics. After an error some of them may be there.
func (c *Client) AddPartitions(ctx context.Context, t Topic, more uint32) error {
	now, err := c.Topic(ctx, t)
	if err != nil {
		return err
	}
	return c.grow(ctx, t, now.PartitionsCount+more)
}

// DeleteTopic is Topics.
func (c *Client) DeleteTopic(ctx context.Context, t Topic) error {
	stream, topic, err := t.ids()
	if err != nil {
		return err
	}
	now, err := c.Topic(ctx, t)
	if err != nil {
		return err
	}
	return c.change(ctx, now.PartitionsCount, opDeleteTopic, func(sdk iggcon.Client) error { return sdk.DeleteTopic(stream, topic) })
}

// sizeOf never is 0: that stands for the server's default when a topic is made,
// and deletes all sealed segments when one is updated.
func sizeOf(maxSize uint64) uint64 {
	if maxSize == 0 {
		return math.MaxUint64
	}
	return maxSize
}
