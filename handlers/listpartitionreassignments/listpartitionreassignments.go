// Package listpartitionreassignments answers ListPartitionReassignments (key 46),
// version 0 (KIP-455): the partitions that are on their way to other brokers.
// There is one broker, so none is, whatever the request names.
package listpartitionreassignments

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.ListPartitionReassignmentsResponse, code int16) { r.ErrorCode = code })

// New returns the handler.
func New() handler.Handler {
	return handler.New(0, 0, shape, badRequest, list,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationDescribe)))
}

func list(ctx context.Context, call handler.Call, req *kmsg.ListPartitionReassignmentsRequest) (*kmsg.ListPartitionReassignmentsResponse, error) {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	denied := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationDescribe)
	if denied.OK() {
		return resp, nil
	}
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	resp.ErrorCode, resp.ErrorMessage, resp.Topics = denied.Code, denied.Message, echo(req)
	return resp, nil
}

// cost is the memory that a refusal takes.
func cost(req *kmsg.ListPartitionReassignmentsRequest) int64 {
	partitions := 0
	for i := range req.Topics {
		partitions += 1 + len(req.Topics[i].Partitions)
	}
	return int64(partitions) * topicadmin.PartitionCost
}

// echo lists what the request names, without replicas, as Kafka's refusals do.
func echo(req *kmsg.ListPartitionReassignmentsRequest) (topics []kmsg.ListPartitionReassignmentsResponseTopic) {
	for _, t := range req.Topics {
		out := kmsg.ListPartitionReassignmentsResponseTopic{Topic: t.Topic}
		for _, index := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.ListPartitionReassignmentsResponseTopicPartition{Partition: index})
		}
		topics = append(topics, out)
	}
	return topics
}
