package createtopics

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicname"
)

// checker checks the topics of one request.
type checker struct {
	creator
	call         handler.Call
	validateOnly bool
	strict       bool // see strictSince
	// collisions looks at the topics from before the request, as Kafka does:
	// topics of one request may collide.
	collisions topicadmin.Collisions
}

// topic checks one topic, the first fault counts, and returns its overrides.
func (c *checker) topic(ctx context.Context, t *kmsg.CreateTopicsRequestTopic) (map[string]string, topicadmin.Fault) {
	if fault := topicadmin.Expired(ctx); !fault.OK() {
		return nil, fault
	}
	if fault := c.name(ctx, t.Topic); !fault.OK() {
		return nil, fault
	}
	overrides, fault := c.configs(t)
	if !fault.OK() {
		return nil, fault
	}
	if len(t.ReplicaAssignment) > 0 {
		return overrides, c.assignment(t)
	}
	return overrides, counts(t)
}

func (c *checker) name(ctx context.Context, name string) topicadmin.Fault {
	if err := topicname.Check(name); err != nil {
		return topicadmin.Refuse(kerr.InvalidTopicException, "%v", err)
	}
	_, err := c.topics.Topic(ctx, name)
	switch {
	case err == nil:
		return failed(name, backend.ErrTopicExists)
	case !errors.Is(err, backend.ErrUnknownTopic):
		return failed(name, err)
	}
	other, err := c.collisions.Find(ctx, name)
	switch {
	case err != nil:
		return failed(name, err)
	case other != "":
		return topicadmin.Refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return topicadmin.Fault{}
}

// configs returns the configs as overrides. Of a config that is given twice the
// last counts.
func (c *checker) configs(t *kmsg.CreateTopicsRequestTopic) (map[string]string, topicadmin.Fault) {
	overrides := make(map[string]string, len(t.Configs))
	var nulls []string
	for _, config := range t.Configs {
		if config.Value == nil {
			nulls = append(nulls, config.Name)
			continue
		}
		overrides[config.Name] = *config.Value
	}
	if len(nulls) > 0 {
		return nil, topicadmin.Refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	if err := c.catalog.ValidateAll(overrides); err != nil {
		return nil, topicadmin.Refuse(kerr.InvalidConfig, "%v", err)
	}
	return overrides, topicadmin.Fault{}
}

// assignment checks a manual assignment, which also gives the counts.
func (c *checker) assignment(t *kmsg.CreateTopicsRequestTopic) topicadmin.Fault {
	switch {
	case t.ReplicationFactor != -1:
		return topicadmin.Refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return topicadmin.Refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	indexes := make([]int32, 0, len(t.ReplicaAssignment))
	for _, a := range t.ReplicaAssignment {
		if fault := topicadmin.CheckReplicas(c.node.ID, a.Replicas); !fault.OK() {
			return fault
		}
		indexes = append(indexes, a.Partition)
	}
	slices.Sort(indexes)
	for i, index := range indexes {
		switch {
		case i > 0 && index == indexes[i-1]:
			return topicadmin.Refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", index)
		case int(index) != i:
			return topicadmin.Refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return topicadmin.Fault{}
}

// counts checks the numbers of partitions and replicas. There is one broker.
func counts(t *kmsg.CreateTopicsRequestTopic) topicadmin.Fault {
	switch {
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return topicadmin.Refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return topicadmin.Refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case t.ReplicationFactor > 1:
		return topicadmin.Refuse(kerr.InvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): The target replication factor of %[1]d cannot be reached because only 1 broker(s) are registered.", t.ReplicationFactor)
	}
	return topicadmin.Fault{}
}

// failed is the fault for an error of the backend.
func failed(name string, err error) topicadmin.Fault {
	if errors.Is(err, backend.ErrTopicExists) {
		return topicadmin.Refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	return topicadmin.Failed(err)
}
