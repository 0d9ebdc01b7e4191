// Package electleaders answers ElectLeaders (key 43), versions 0 to 2 (KIP-183):
// it makes preferred replicas lead again. v1 (KIP-460) adds unclean elections
// and a top-level code, v2 is flexible.
//
// The one broker leads every partition, so there is nothing to elect: a partition
// that is named is told so, and when all are asked for, by null, none is listed.
package electleaders

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// New returns the handler. A body that does not decode closes the connection:
// v0 has no top-level error code.
func New(topics backend.Topics) handler.Handler {
	return handler.New(0, 2, shape, handler.CloseConnection, elector{topics}.elect,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

// The election types, from v1 on; v0 elects preferred replicas.
const (
	preferred = 0
	unclean   = 1
)

// notNeeded is the answer about every partition that is there.
var notNeeded = topicadmin.Refuse(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")

type elector struct{ topics backend.Topics }

func (e elector) elect(ctx context.Context, call handler.Call, req *kmsg.ElectLeadersRequest) (*kmsg.ElectLeadersResponse, error) {
	if err := call.Reserve(ctx, topicadmin.Cost(names(req.Topics))); err != nil {
		return nil, err
	}
	if denied := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter); !denied.OK() {
		return refuse(req.Topics, denied), nil
	}
	switch asked := req.Topics; {
	case asked != nil && len(asked) == 0:
		return kmsg.NewPtrElectLeadersResponse(), nil
	case req.TimeoutMillis <= 0:
		return refuse(asked, topicadmin.TimedOut), nil
	case req.Version >= 1 && req.ElectionType != preferred && req.ElectionType != unclean:
		return refuse(asked, topicadmin.Refuse(kerr.InvalidRequest, "Unknown election type %d", req.ElectionType)), nil
	case asked == nil:
		return e.all(ctx, call, req.Version)
	}
	return e.named(ctx, req.Topics)
}

// names yields the name of each topic and, again, for each of its partitions.
func names(topics []kmsg.ElectLeadersRequestTopic) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range topics {
			for range 1 + len(topics[i].Partitions) {
				if !yield(topics[i].Topic) {
					return
				}
			}
		}
	}
}

// refuse answers everything that is named alike, and the whole request too.
func refuse(asked []kmsg.ElectLeadersRequestTopic, fault topicadmin.Fault) *kmsg.ElectLeadersResponse {
	resp := answer(asked, func(string, int32) topicadmin.Fault { return fault })
	resp.ErrorCode = fault.Code
	return resp
}

// named answers for each partition of the request, repeats too.
func (e elector) named(ctx context.Context, asked []kmsg.ElectLeadersRequestTopic) (*kmsg.ElectLeadersResponse, error) {
	topics := topicadmin.NewFinder(e.topics)
	resp := answer(asked, func(topic string, index int32) topicadmin.Fault {
		switch _, _, err := topics.Partition(ctx, topic, index); {
		case errors.Is(err, backend.ErrUnknownTopic):
			return topicadmin.Refuse(kerr.UnknownTopicOrPartition, "No such topic as %s", topic)
		case errors.Is(err, backend.ErrUnknownPartition):
			return topicadmin.Refuse(kerr.UnknownTopicOrPartition, "No such partition as %s-%d", topic, index)
		case err != nil:
			return topicadmin.Failed(err)
		}
		return notNeeded
	})
	return resp, ctx.Err()
}

// all lists every topic, and no partition, because none needs an election. A
// backend that fails closes the connection at v0, which has no room to say so.
func (e elector) all(ctx context.Context, call handler.Call, version int16) (*kmsg.ElectLeadersResponse, error) {
	topics, err := e.topics.AllTopics(ctx)
	switch {
	case err != nil && (version == 0 || ctx.Err() != nil):
		return nil, fmt.Errorf("listing all topics: %w", err)
	case err != nil:
		return refuse(nil, topicadmin.Failed(err)), nil
	}
	size := price(version, topics)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("an election in %d topics takes %d bytes to tell, more than max_frame_size %d", len(topics), size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+topicMemory*int64(len(topics))); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.Topics = make([]kmsg.ElectLeadersResponseTopic, len(topics))
	for i := range topics {
		resp.Topics[i].Topic = topics[i].Name
	}
	return resp, nil
}

// topicMemory is what a topic without partitions takes in an answer before it is
// encoded, in bytes.
const topicMemory = 64

// price returns the length in bytes of an answer of topics without partitions,
// with its header and without the length prefix of the frame.
func price(version int16, topics []backend.Topic) int64 {
	l := encoded.At(version, 2)
	sum := l.Header() + 4 + l.Array(len(topics)) + l.Tags() // throttle time
	if version >= 1 {
		sum += 2 // error code
	}
	for i := range topics {
		sum += l.String(len(topics[i].Name)) + l.Array(0) + l.Tags()
	}
	return sum
}

// answer has one entry for each of the request, in its order.
func answer(asked []kmsg.ElectLeadersRequestTopic, of func(topic string, index int32) topicadmin.Fault) *kmsg.ElectLeadersResponse {
	resp := kmsg.NewPtrElectLeadersResponse()
	for i := range asked {
		t := kmsg.ElectLeadersResponseTopic{Topic: asked[i].Topic}
		for _, index := range asked[i].Partitions {
			fault := of(t.Topic, index)
			t.Partitions = append(t.Partitions, kmsg.ElectLeadersResponseTopicPartition{
				Partition: index, ErrorCode: fault.Code, ErrorMessage: fault.Message,
			})
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
