// Package offsetforleaderepoch answers OffsetForLeaderEpoch (key 23), versions 2
// to 4 (KIP-101, KIP-279, KIP-320): where the records of a leader epoch end.
// Consumers ask it to find out whether a log lost records that they have seen.
//
// Every partition has had one leader, of epoch 0, so the records of epoch 0 end
// where the log ends, and later epochs are unknown.
package offsetforleaderepoch

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	Bounds(context.Context, backend.Partition) (backend.Bounds, error)
}

// New returns the handler.
func New(store Store) handler.Handler {
	return handler.New(2, 4, shape, handler.CloseConnection, finder{store}.find, handler.Authorizes(checks()...))
}

// Leader epochs: that of every partition, and the one that stands for none.
const (
	leaderEpoch = 0
	none        = -1
)

// checks are those of Kafka: brokers may ask about everything (KIP-101), clients
// about topics that they may describe (KIP-320).
func checks() []handler.Check {
	broker := topicadmin.ClusterCheck(kmsg.ACLOperationClusterAction)
	client := topicadmin.TopicCheck(kmsg.ACLOperationDescribe)
	broker.Code, client.When = client.Code, "or else"
	return []handler.Check{broker, client}
}

type finder struct{ store Store }

func (f finder) find(ctx context.Context, call handler.Call, req *kmsg.OffsetForLeaderEpochRequest) (*kmsg.OffsetForLeaderEpochResponse, error) {
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	topics := topicadmin.NewFinder(f.store)
	all := call.ShownCluster(ctx, kmsg.ACLOperationClusterAction)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = t.Topic
		allowed := all || topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationDescribe, t.Topic)
		for j := range t.Partitions {
			if !allowed {
				out.Partitions = append(out.Partitions, denied(t.Partitions[j].Partition))
				continue
			}
			out.Partitions = append(out.Partitions, f.one(ctx, topics, t.Topic, &t.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, ctx.Err()
}

// cost is the memory that the answer takes.
func cost(req *kmsg.OffsetForLeaderEpochRequest) int64 {
	partitions := 0
	for i := range req.Topics {
		partitions += 1 + len(req.Topics[i].Partitions)
	}
	return int64(partitions) * topicadmin.PartitionCost
}

// denied is the answer about a partition of a topic that the caller may not
// describe.
func denied(index int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition() // epoch and offset −1
	out.Partition, out.ErrorCode = index, kerr.TopicAuthorizationFailed.Code
	return out
}

// one answers one partition; the checks stand in Kafka's order.
func (f finder) one(ctx context.Context, topics *topicadmin.Finder, topic string, p *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition() // epoch and offset −1
	out.Partition = p.Partition
	id, _, err := topics.Partition(ctx, topic, p.Partition)
	switch {
	case err != nil:
		out.ErrorCode = errcode.Log(err)
		return out
	case p.CurrentLeaderEpoch > leaderEpoch:
		out.ErrorCode = kerr.UnknownLeaderEpoch.Code
		return out
	case p.CurrentLeaderEpoch < leaderEpoch && p.CurrentLeaderEpoch != none:
		out.ErrorCode = kerr.FencedLeaderEpoch.Code
		return out
	case p.LeaderEpoch > leaderEpoch || p.LeaderEpoch == none:
		return out
	}
	bounds, err := f.store.Bounds(ctx, id)
	switch {
	case err != nil:
		out.ErrorCode = errcode.Log(err)
	case p.LeaderEpoch == leaderEpoch:
		out.LeaderEpoch, out.EndOffset = leaderEpoch, bounds.End
	default: // an epoch before the first one ends where the log begins, as in Kafka
		out.LeaderEpoch, out.EndOffset = p.LeaderEpoch, bounds.Start
	}
	return out
}
