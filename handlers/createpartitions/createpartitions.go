// Package createpartitions answers CreatePartitions (key 37), versions 0 to 3
// (KIP-195): it raises the number of partitions of topics. Existing records and
// offsets stay where they are. Version 2 is flexible; version 3 is the same.
//
// A request can be faulty as a whole: a timeout that has passed already, or
// more new partitions than one request may add. Otherwise each topic stands
// for itself. With validate_only the same is checked and nothing added.
package createpartitions

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// New returns the handler.
func New(topics backend.Topics, node *settings.Node, cfg settings.Topics) handler.Handler {
	return handler.New(0, 3, shape, handler.CloseConnection, grower{topics, node, cfg.MaxNewPartitions}.grow,
		handler.Authorizes(check))
}

// check: the fault of a name that is there twice goes before it.
var check = handler.Check{Operation: kmsg.ACLOperationAlter, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
	Code: kerr.TopicAuthorizationFailed.Code, When: "the name is there once"}

type grower struct {
	topics backend.Topics
	node   *settings.Node
	max    int32
}

// strictSince is the version whose clients know THROTTLING_QUOTA_EXCEEDED (KIP-599).
const strictSince = 3

// found is what the backend says of one topic of a request that the caller may
// alter; the zero value stands for any other.
type found struct {
	allowed bool
	topic   backend.Topic
	err     error
}

func (g grower) grow(ctx context.Context, call handler.Call, req *kmsg.CreatePartitionsRequest) (*kmsg.CreatePartitionsResponse, error) {
	if err := call.Reserve(ctx, topicadmin.Cost(names(req))); err != nil {
		return nil, err
	}
	repeated := topicadmin.Repeated(names(req))
	topics, some := make([]found, len(req.Topics)), false
	for i := range req.Topics {
		name := req.Topics[i].Topic
		topics[i].allowed = !repeated[name] && topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationAlter, name)
		some = some || topics[i].allowed
	}
	if some && req.TimeoutMillis <= 0 { // Kafka's controller is not asked for nothing
		return refuseAll(req, topicadmin.TimedOut), nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	defer cancel()

	if g.look(ctx, req, topics) > int64(g.max) {
		return refuseAll(req, topicadmin.Refuse(kerr.PolicyViolation, "Excessively large number of additional partitions per request.")), nil
	}

	resp := kmsg.NewPtrCreatePartitionsResponse()
	answered := map[string]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		switch {
		case topics[i].allowed:
			resp.Topics = append(resp.Topics, answer(t.Topic, g.one(ctx, call, t, topics[i], req)))
		case !repeated[t.Topic]:
			resp.Topics = append(resp.Topics, answer(t.Topic, topicadmin.Fault{Code: kerr.TopicAuthorizationFailed.Code}))
		case !answered[t.Topic]:
			answered[t.Topic] = true
			resp.Topics = append(resp.Topics, answer(t.Topic, topicadmin.DuplicateName))
		}
	}
	return resp, nil
}

// look looks up the topics that may be altered, and returns how many partitions the
// request would add to them.
func (g grower) look(ctx context.Context, req *kmsg.CreatePartitionsRequest, topics []found) (added int64) {
	for i := range topics {
		f := &topics[i]
		if !f.allowed {
			continue
		}
		if f.topic, f.err = g.topics.Topic(ctx, req.Topics[i].Topic); f.err == nil {
			added += max(0, int64(req.Topics[i].Count)-int64(f.topic.Partitions))
		}
	}
	return added
}

func names(req *kmsg.CreatePartitionsRequest) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range req.Topics {
			if !yield(req.Topics[i].Topic) {
				return
			}
		}
	}
}

// one checks one topic and, unless it is only to be validated, grows it.
func (g grower) one(ctx context.Context, call handler.Call, t *kmsg.CreatePartitionsRequestTopic, f found, req *kmsg.CreatePartitionsRequest) topicadmin.Fault {
	if f.err != nil {
		return topicadmin.Failed(f.err)
	}
	if fault := topicadmin.Expired(ctx); !fault.OK() {
		return fault
	}
	if fault := g.check(t, f.topic.Partitions); !fault.OK() {
		return fault
	}
	// In Kafka, also what is only validated is charged.
	if !call.Change(int(t.Count-f.topic.Partitions), req.Version >= strictSince) {
		return topicadmin.OverQuota
	}
	if req.ValidateOnly {
		return topicadmin.Fault{}
	}
	err := g.topics.GrowTopic(ctx, f.topic.ID, t.Count)
	if errors.Is(err, backend.ErrPartitionCount) { // somebody else was faster
		return topicadmin.Refuse(kerr.InvalidPartitions, "%v", backend.ErrPartitionCount)
	}
	return topicadmin.Failed(err)
}

// check compares what is asked for with the present number of partitions. A
// null assignment leaves it to the broker; an empty one is an assignment.
func (g grower) check(t *kmsg.CreatePartitionsRequestTopic, present int32) topicadmin.Fault {
	switch {
	case t.Count == present:
		return topicadmin.Refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", present)
	case t.Count < present:
		return topicadmin.Refuse(kerr.InvalidPartitions,
			"The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, present, t.Count)
	case t.Assignment == nil:
		return topicadmin.Fault{}
	case len(t.Assignment) != int(t.Count-present):
		return topicadmin.Refuse(kerr.InvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", t.Count-present, len(t.Assignment))
	}
	for _, a := range t.Assignment {
		if fault := topicadmin.CheckReplicas(g.node.ID, a.Replicas); !fault.OK() {
			return fault
		}
	}
	return topicadmin.Fault{}
}

func answer(name string, fault topicadmin.Fault) kmsg.CreatePartitionsResponseTopic {
	t := kmsg.NewCreatePartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, fault.Code, fault.Message
	return t
}

// refuseAll answers every entry of the request alike, repeats too.
func refuseAll(req *kmsg.CreatePartitionsRequest, fault topicadmin.Fault) *kmsg.CreatePartitionsResponse {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, answer(req.Topics[i].Topic, fault))
	}
	return resp
}
