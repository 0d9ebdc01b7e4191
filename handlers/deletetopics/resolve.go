package deletetopics

import (
	"context"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// checks are what is asked of an authorizer.
var checks = []handler.Check{
	{
		Operation: kmsg.ACLOperationDelete, Resource: kmsg.ACLResourceTypeCluster,
		Code: kerr.TopicAuthorizationFailed.Code,
	},
	{
		Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		Code: kerr.TopicAuthorizationFailed.Code, When: "or else, together with the next one",
	},
	{
		Operation: kmsg.ACLOperationDelete, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		Code: kerr.TopicAuthorizationFailed.Code, When: "or else, together with the one before",
	},
}

// rights are what the caller may do to the topics of one request.
type rights struct {
	call handler.Call
	// The right to delete any topic is asked for once.
	asked, any bool
}

// of reports whether the caller may describe and delete a topic. Nothing is audited
// for an entry that is refused anyway.
func (r *rights) of(ctx context.Context, name string, quiet bool) (describe, remove bool) {
	if !r.asked {
		r.asked, r.any = true, r.call.ShownCluster(ctx, kmsg.ACLOperationDelete)
	}
	if r.any {
		return true, true
	}
	ask := r.call.Allowed
	if quiet {
		ask = r.call.Shown
	}
	describe = ask(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, name)
	return describe, ask(ctx, kmsg.ACLOperationDelete, kmsg.ACLResourceTypeTopic, name)
}

// resolve finds the topics, so that each entry without a fault has name and id,
// and keeps one entry, with a fault, of those that mean the same topic.
// Repeated entries count: their topic must not go by its other identity.
func (d deleter) resolve(ctx context.Context, may *rights, items []item) []item {
	kept, at := items[:0], map[uuid.UUID]int{}
	for _, it := range items {
		if _, ok := it.identity(); !ok {
			kept = append(kept, it)
			continue
		}
		topic, fault := d.find(ctx, may, &it)
		switch first, again := at[topic.ID]; {
		case !fault.OK():
			if it.fault.OK() {
				it.fault = fault
			}
		case again:
			kept[first] = item{name: &topic.Name, id: topic.ID, fault: topicadmin.Refuse(kerr.InvalidRequest,
				"The provided topic name maps to an ID that was already supplied.")}
			continue
		default:
			at[topic.ID] = len(kept)
			if it.fault.OK() {
				it.name, it.id, it.partitions = &topic.Name, topic.ID, topic.Partitions
			}
		}
		kept = append(kept, it)
	}
	return kept
}

// find looks up a topic that the caller may delete. What the caller may not describe
// is refused alike whether it is there or not, and which name belongs to an id is
// told to nobody else.
func (d deleter) find(ctx context.Context, may *rights, it *item) (backend.Topic, topicadmin.Fault) {
	quiet := !it.fault.OK()
	if it.name != nil {
		describe, remove := may.of(ctx, *it.name, quiet)
		if !describe {
			return backend.Topic{}, topicadmin.TopicDenied
		}
		topic, err := d.topics.Topic(ctx, *it.name)
		if err == nil && !remove {
			return backend.Topic{}, topicadmin.TopicDenied
		}
		return topic, failed(err, false)
	}
	topic, err := d.topics.TopicByID(ctx, it.id)
	if err != nil {
		return topic, failed(err, true)
	}
	describe, remove := may.of(ctx, topic.Name, quiet)
	if remove {
		return topic, topicadmin.Fault{}
	}
	if describe && !quiet {
		it.name = &topic.Name
	}
	return backend.Topic{}, topicadmin.TopicDenied
}
