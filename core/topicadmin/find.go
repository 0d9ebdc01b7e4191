package topicadmin

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
)

// PartitionCost is the memory in bytes that the answer about one partition takes
// when it has no message: what is looked up, the Go values, and the encoded form.
const PartitionCost = 192

// Finder looks up the topics that one request names, each once. It is not safe
// for concurrent use.
type Finder struct {
	topics backend.Topics
	found  map[string]found
}

// found is what the backend says of one topic.
type found struct {
	topic backend.Topic
	err   error
}

// NewFinder returns a finder that has found nothing yet.
func NewFinder(topics backend.Topics) *Finder {
	return &Finder{topics: topics, found: map[string]found{}}
}

// Topic returns the topic of a name, as the backend answered the first time;
// backend.ErrUnknownTopic or another error of the backend.
func (f *Finder) Topic(ctx context.Context, name string) (backend.Topic, error) {
	known, ok := f.found[name]
	if !ok {
		known.topic, known.err = f.topics.Topic(ctx, name)
		f.found[name] = known
	}
	return known.topic, known.err
}

// Partition returns a partition and its topic; errors as Topic, and
// backend.ErrUnknownPartition.
func (f *Finder) Partition(ctx context.Context, name string, index int32) (backend.Partition, backend.Topic, error) {
	topic, err := f.Topic(ctx, name)
	switch {
	case err != nil:
		return backend.Partition{}, topic, err
	case index < 0 || index >= topic.Partitions:
		return backend.Partition{}, topic, backend.ErrUnknownPartition
	}
	return backend.Partition{Topic: topic.ID, Index: index}, topic, nil
}
