// Package offsetdelete answers OffsetDelete (key 47), version 0: it deletes what
// a group has committed for some partitions.
//
// KIP-496. A group with members keeps the offsets of the topics that they
// subscribe to; only consumers say which, so other kinds of groups have to be
// without members.
//
// # Atomicity
//
// The offsets of a request go in one step: all of them, or none and a top-level
// code.
package offsetdelete

import (
	"context"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.OffsetDeleteResponse, code int16) { r.ErrorCode = code })

// partitionMemory is what a partition takes while it is worked on, beside its
// request, and topicMemory what a topic does, in bytes.
const (
	partitionMemory = 128
	topicMemory     = 256
	// nameCopies is how often the group's name, which is in the key of each partition,
	// is in memory while the deletion is stored.
	nameCopies = 4
)

// Store is the part of a backend that the handler needs.
type Store interface {
	backend.Topics
	backend.Offsets
}

// New returns the handler over the given coordinator and store.
func New(groups coordinator.Describer, store Store) handler.Handler {
	return handler.New(0, 0, shape, badRequest, deleter{groups, store}.delete, handler.Authorizes(checks...))
}

var checks = []handler.Check{
	{Operation: kmsg.ACLOperationDelete, Resource: kmsg.ACLResourceTypeGroup, Of: "the group", Code: kerr.GroupAuthorizationFailed.Code},
	{Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic", Code: kerr.TopicAuthorizationFailed.Code},
}

type deleter struct {
	groups coordinator.Describer
	store  Store
}

// delete looks at the group first: a code at the top level leaves the topics out.
func (d deleter) delete(ctx context.Context, call handler.Call, req *kmsg.OffsetDeleteRequest) (*kmsg.OffsetDeleteResponse, error) {
	cost, each := int64(0), partitionMemory+nameCopies*int64(len(req.Group))
	for i := range req.Topics {
		cost += topicMemory + int64(len(req.Topics[i].Topic)) + each*int64(len(req.Topics[i].Partitions))
	}
	if err := call.Reserve(ctx, cost); err != nil {
		return nil, err
	}
	subscribed, code, err := d.look(ctx, call, req)
	if err != nil {
		return nil, err
	}
	if code == 0 {
		resp, commits := d.resolve(ctx, call, req, subscribed)
		if len(commits) > 0 {
			code = errcode.Offsets(d.store.CommitOffsets(ctx, req.Group, commits))
		}
		if code == 0 {
			return resp, nil
		}
	}
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = code
	return resp, nil
}

// look returns which of the request's topics the group's members subscribe to,
// or the code that refuses the request. An error closes the connection.
func (d deleter) look(ctx context.Context, call handler.Call, req *kmsg.OffsetDeleteRequest) (subscribed topics, code int16, err error) {
	switch {
	case !call.Allowed(ctx, kmsg.ACLOperationDelete, kmsg.ACLResourceTypeGroup, req.Group):
		return nil, kerr.GroupAuthorizationFailed.Code, nil
	case req.Group == "":
		return nil, kerr.InvalidGroupID.Code, nil
	}
	// Results share the members' metadata with the group: only their headers
	// are copied.
	found, err := d.groups.Describe(ctx, []string{req.Group}, coordinator.Bill{
		Limit:   math.MaxInt64,
		Price:   func(l coordinator.Lengths) int64 { return int64(l.Members) * memberMemory },
		Reserve: call.Reserve,
	})
	if err != nil {
		return nil, 0, err
	}
	switch group := &found[0]; {
	case group.State == coordinator.Dead:
		committed, err := d.store.FetchOffsets(ctx, req.Group, nil)
		if err != nil {
			return nil, errcode.Offsets(err), nil
		}
		if len(committed) == 0 {
			return nil, kerr.GroupIDNotFound.Code, nil
		}
	case len(group.Members) == 0:
	case group.ProtocolType != consumerProtocol:
		return nil, kerr.NonEmptyGroup.Code, nil
	default:
		return subscriptions(group, req), 0, nil
	}
	return nil, 0, nil
}

// resolve answers every partition in its place, and returns the commits that
// delete the offsets of those that may go. Each topic is looked up once.
func (d deleter) resolve(ctx context.Context, call handler.Call, req *kmsg.OffsetDeleteRequest, subscribed topics) (*kmsg.OffsetDeleteResponse, []backend.Commit) {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var commits []backend.Commit
	known := make(map[string]lookup, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		found, ok := known[from.Topic]
		if !ok {
			found = d.find(ctx, call, from.Topic)
			known[from.Topic] = found
		}
		to.Topic, to.Partitions = from.Topic, make([]kmsg.OffsetDeleteResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			index := from.Partitions[j].Partition
			code := found.code
			switch {
			case code != 0:
			case index < 0 || index >= found.topic.Partitions:
				code = kerr.UnknownTopicOrPartition.Code
			case subscribed.has(from.Topic):
				code = kerr.GroupSubscribedToTopic.Code
			default:
				commits = append(commits, backend.Commit{
					Partition:       backend.Partition{Topic: found.topic.ID, Index: index},
					CommittedOffset: backend.CommittedOffset{Offset: -1, LeaderEpoch: -1},
				})
			}
			to.Partitions[j] = kmsg.OffsetDeleteResponseTopicPartition{Partition: index, ErrorCode: code}
		}
	}
	return resp, commits
}

// find looks a topic up, if the caller may read it.
func (d deleter) find(ctx context.Context, call handler.Call, name string) lookup {
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, name) {
		return lookup{code: kerr.TopicAuthorizationFailed.Code}
	}
	topic, err := d.store.Topic(ctx, name)
	return lookup{topic, errcode.Offsets(err)}
}

// lookup is a topic, or the code of why there is none.
type lookup struct {
	topic backend.Topic
	code  int16
}
