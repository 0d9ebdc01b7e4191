// Package deletetopics answers DeleteTopics (key 20), versions 1 to 6.
//
// Version 5 (KIP-599) adds messages, version 6 (KIP-516) deletion by id: each
// entry then has a name or an id, and the answer shows both. What is named
// twice, or by name and by id, is answered once and not deleted. Deletion
// removes the records, configs, committed offsets and producer state.
package deletetopics

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// New returns the handler.
func New(topics backend.Topics, cfg settings.Topics) handler.Handler {
	return handler.New(1, 6, shape, handler.CloseConnection, deleter{topics, cfg.DeleteEnable}.delete, handler.Authorizes(checks...))
}

type deleter struct {
	topics  backend.Topics
	enabled bool
}

// item is one entry of a request, and of its answer.
type item struct {
	name  *string
	id    uuid.UUID
	fault topicadmin.Fault
	// partitions is how many the topic has, once found.
	partitions int32
}

// strictSince is the version whose clients know THROTTLING_QUOTA_EXCEEDED (KIP-599).
const strictSince = 5

func (d deleter) delete(ctx context.Context, call handler.Call, req *kmsg.DeleteTopicsRequest) (*kmsg.DeleteTopicsResponse, error) {
	items := itemsOf(req)
	if err := call.Reserve(ctx, topicadmin.Cost(names(items))); err != nil {
		return nil, err
	}
	switch {
	case !d.enabled && req.Version < 3:
		return answer(all(items, topicadmin.Fault{Code: kerr.InvalidRequest.Code})), nil
	case !d.enabled:
		return answer(all(items, topicadmin.Refuse(kerr.TopicDeletionDisabled, "Topic deletion is disabled."))), nil
	case req.TimeoutMillis <= 0:
		return answer(all(items, topicadmin.TimedOut)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	defer cancel()

	items = d.resolve(ctx, &rights{call: call}, once(items))
	for i := range items {
		it := &items[i]
		if it.fault.OK() {
			it.fault = topicadmin.Expired(ctx)
		}
		if it.fault.OK() && !call.Change(int(it.partitions), req.Version >= strictSince) {
			it.fault = topicadmin.OverQuota
		}
		if it.fault.OK() {
			it.fault = failed(d.topics.DeleteTopic(ctx, it.id), false)
		}
	}
	return answer(items), nil
}

// itemsOf returns the entries of a request, whose layout changed with ids.
func itemsOf(req *kmsg.DeleteTopicsRequest) []item {
	items := make([]item, 0, len(req.TopicNames)+len(req.Topics))
	for i := range req.TopicNames {
		items = append(items, item{name: &req.TopicNames[i]})
	}
	for i := range req.Topics {
		items = append(items, item{name: req.Topics[i].Topic, id: req.Topics[i].TopicID})
	}
	return items
}

func names(items []item) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, it := range items {
			name := ""
			if it.name != nil {
				name = *it.name
			}
			if !yield(name) {
				return
			}
		}
	}
}

func all(items []item, fault topicadmin.Fault) []item {
	for i := range items {
		items[i].fault = fault
	}
	return items
}

// identity is how an entry names its topic.
type identity struct {
	byID bool
	name string
	id   uuid.UUID
}

// identity returns how the entry names its topic; ok is false unless it does in
// exactly one way.
func (it item) identity() (who identity, ok bool) {
	switch {
	case it.name != nil && it.id == uuid.Nil:
		return identity{name: *it.name}, true
	case it.name == nil && it.id != uuid.Nil:
		return identity{byID: true, id: it.id}, true
	}
	return identity{}, false
}

// once checks how each entry names its topic, and keeps one entry, with a
// fault, of those that repeat another.
func once(items []item) []item {
	repeated := topicadmin.Repeated(func(yield func(identity) bool) {
		for _, it := range items {
			if who, ok := it.identity(); ok && !yield(who) {
				return
			}
		}
	})
	kept, answered := items[:0], map[identity]bool{}
	for _, it := range items {
		who, ok := it.identity()
		switch {
		case !ok && it.name == nil:
			it.fault = topicadmin.Refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
		case !ok:
			it.fault = topicadmin.Refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
		case answered[who]:
			continue
		case repeated[who]:
			it.fault = topicadmin.DuplicateName
			if who.byID {
				it.fault = topicadmin.Refuse(kerr.InvalidRequest, "Duplicate topic id.")
			}
			answered[who] = true
		}
		kept = append(kept, it)
	}
	return kept
}

// failed is the fault for an error of the backend.
func failed(err error, byID bool) topicadmin.Fault {
	switch {
	case errors.Is(err, backend.ErrUnknownTopic) && byID:
		return topicadmin.Refuse(kerr.UnknownTopicID, "%s", kerr.UnknownTopicID.Description)
	case errors.Is(err, backend.ErrUnknownTopic):
		return topicadmin.Refuse(kerr.UnknownTopicOrPartition, "%s", kerr.UnknownTopicOrPartition.Description)
	}
	return topicadmin.Failed(err)
}

func answer(items []item) *kmsg.DeleteTopicsResponse {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for _, it := range items {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = it.name, it.id, it.fault.Code, it.fault.Message
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
