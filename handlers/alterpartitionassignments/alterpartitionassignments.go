// Package alterpartitionassignments answers AlterPartitionReassignments (key 45,
// AlterPartitionAssignments to the codec), versions 0 to 1 (KIP-455): it moves
// partitions to other brokers, or ends such a move. v1 (KIP-860) lets the sender
// forbid a change of the replication factor.
//
// There is one broker, which has every partition: to move one there is done at
// once, to move it elsewhere is refused, and no move is ever under way.
package alterpartitionassignments

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.AlterPartitionAssignmentsResponse, code int16) {
	r.AllowReplicationFactorChange, r.ErrorCode = true, code
})

// New returns the handler.
func New(topics backend.Topics, node *settings.Node) handler.Handler {
	return handler.New(0, 1, shape, badRequest, mover{topics, node}.move,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type mover struct {
	topics backend.Topics
	node   *settings.Node
}

func (m mover) move(ctx context.Context, call handler.Call, req *kmsg.AlterPartitionAssignmentsRequest) (*kmsg.AlterPartitionAssignmentsResponse, error) {
	if err := call.Reserve(ctx, topicadmin.Cost(names(req))); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	if denied := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter); !denied.OK() {
		resp.ErrorCode, resp.ErrorMessage, resp.Topics = denied.Code, denied.Message, refuse(req, denied)
		return resp, nil
	}
	if len(req.Topics) == 0 {
		resp.ErrorMessage = new(string) // "", as Kafka has it
		return resp, nil
	}
	if req.TimeoutMillis <= 0 {
		resp.ErrorCode, resp.Topics = topicadmin.TimedOut.Code, refuse(req, topicadmin.TimedOut)
		return resp, nil
	}
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	topics := topicadmin.NewFinder(m.topics)
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			fault := m.one(ctx, topics, t.Topic, p)
			out.Partitions = append(out.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: p.Partition, ErrorCode: fault.Code, ErrorMessage: fault.Message,
			})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, ctx.Err()
}

// refuse answers every partition alike.
func refuse(req *kmsg.AlterPartitionAssignmentsRequest, fault topicadmin.Fault) (topics []kmsg.AlterPartitionAssignmentsResponseTopic) {
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for j := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: t.Partitions[j].Partition, ErrorCode: fault.Code, ErrorMessage: fault.Message,
			})
		}
		topics = append(topics, out)
	}
	return topics
}

// names yields the name of each topic and, again, for each of its partitions.
func names(req *kmsg.AlterPartitionAssignmentsRequest) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range req.Topics {
			for range 1 + len(req.Topics[i].Partitions) {
				if !yield(req.Topics[i].Topic) {
					return
				}
			}
		}
	}
}

// one answers one partition; the checks stand in Kafka's order. What passes them
// asks for the broker that has the partition. A change of the replication factor
// cannot come this far.
func (m mover) one(ctx context.Context, topics *topicadmin.Finder, topic string, p *kmsg.AlterPartitionAssignmentsRequestTopicPartition) topicadmin.Fault {
	switch _, _, err := topics.Partition(ctx, topic, p.Partition); {
	case errors.Is(err, backend.ErrUnknownTopic):
		return topicadmin.Refuse(kerr.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	case errors.Is(err, backend.ErrUnknownPartition):
		return topicadmin.Refuse(kerr.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, p.Partition)
	case err != nil:
		return topicadmin.Failed(err)
	case p.Replicas == nil:
		return topicadmin.Fault{Code: kerr.NoReassignmentInProgress.Code}
	}
	return topicadmin.CheckReplicas(m.node.ID, p.Replicas)
}
