// Package offsetfetch answers OffsetFetch (key 9), versions 1 to 10: what
// groups have committed.
//
// Up to v7 a request names one group, from v8 on (KIP-709) many. Null topics
// (v2+) ask for everything that a group has committed. KIP-320 (v5: leader
// epoch), KIP-447 (v7: require_stable, without meaning here because there are
// no transactions), KIP-848 (v9: member id and epoch, ignored; v10: topics by
// id). Membership is not checked.
//
// # Errors
//
// An offset of −1 means "nothing committed" and makes a consumer start from its
// reset policy. So a backend failure never looks like it: it fails the whole
// group, in the place that the version has for it.
//
// # Size
//
// An answer depends on what was committed. It is charged to the memory budget
// group by group, and given up as soon as it must be above the frame limit.
package offsetfetch

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
)

// The versions that change the layout.
const (
	topLevelCode = 2 // a group's failure has a place of its own
	manyGroups   = 8
	topicIDs     = 10
)

// Store is the part of a backend that the handler needs.
type Store interface {
	backend.Topics
	backend.Offsets
}

// New returns the handler over the given store. A body that does not decode
// closes the connection: not every version has a top-level code, and a
// partition that is left out resets a consumer.
func New(store Store) handler.Handler {
	return handler.New(1, 10, shape, handler.CloseConnection, fetcher{store}.fetch, handler.Authorizes(
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeGroup, Of: "each group",
			Code: kerr.GroupAuthorizationFailed.Code,
		},
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
			Code: kerr.TopicAuthorizationFailed.Code, When: "the request names topics",
		},
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic with offsets",
			When: "the request asks for all",
		},
	))
}

type fetcher struct{ store Store }

func (f fetcher) fetch(ctx context.Context, call handler.Call, req *kmsg.OffsetFetchRequest) (*kmsg.OffsetFetchResponse, error) {
	q := query{store: f.store, call: call, version: req.Version}
	resp := kmsg.NewPtrOffsetFetchResponse()
	if req.Version < manyGroups {
		asked := onlyGroup(req)
		group, err := q.group(ctx, &asked)
		if err != nil {
			return nil, err
		}
		fillSingle(resp, req, &group)
		return resp, nil
	}
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	for i := range req.Groups {
		var err error
		if resp.Groups[i], err = q.group(ctx, &req.Groups[i]); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// onlyGroup returns what a request below v8 asks for, in the form of the later
// versions.
func onlyGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = req.Group
	if req.Topics == nil {
		return group
	}
	group.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i := range req.Topics {
		group.Topics[i].Topic, group.Topics[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
	}
	return group
}

// fillSingle puts a group's answer where versions below v8 have it. v1 has no
// place for a group's failure, so there every partition carries the code.
func fillSingle(resp *kmsg.OffsetFetchResponse, req *kmsg.OffsetFetchRequest, group *kmsg.OffsetFetchResponseGroup) {
	topics := group.Topics
	if group.ErrorCode != 0 {
		resp.ErrorCode = group.ErrorCode
		if req.Version >= topLevelCode {
			return
		}
		asked := onlyGroup(req)
		topics = blank(asked.Topics, group.ErrorCode)
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(topics))
	for i := range topics {
		to := &resp.Topics[i]
		to.Topic = topics[i].Topic
		to.Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(topics[i].Partitions))
		for j, p := range topics[i].Partitions {
			to.Partitions[j] = kmsg.OffsetFetchResponseTopicPartition(p)
		}
	}
}
