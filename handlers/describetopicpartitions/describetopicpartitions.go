// Package describetopicpartitions answers DescribeTopicPartitions (key 75),
// version 0 (KIP-966): the partitions of topics, page by page.
//
// Topics are sorted by name and a page ends after as many partitions as the
// client or the configuration allows; its cursor says where the next begins.
// Names that repeat count once. Those that fail stand in their places with a
// code, and take nothing from the page.
package describetopicpartitions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicname"
)

// New returns the handler.
func New(topics backend.Topics, node *settings.Node, cfg settings.Describe) handler.Handler {
	return handler.New(0, 0, shape, handler.CloseConnection, describer{topics, node, cfg.PartitionsMax}.describe,
		handler.Authorizes(checks()...))
}

// checks: a topic that is named is refused, of all those are listed that may be
// described.
func checks() []handler.Check {
	named := topicadmin.TopicCheck(kmsg.ACLOperationDescribe)
	named.When = "topics are named"
	all := handler.Check{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic", When: "all are asked for"}
	operations := handler.AsksOperations(kmsg.ACLResourceTypeTopic, "each topic that may be described")
	operations.When = ""
	return []handler.Check{named, all, operations}
}

type describer struct {
	topics backend.Topics
	node   *settings.Node
	max    int32
}

// partitionCost is the memory in bytes of a partition of the answer, with what
// it takes encoded.
const partitionCost = 256

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeTopicPartitionsRequest) (*kmsg.DescribeTopicPartitionsResponse, error) {
	p := page{describer: d, call: call, resp: kmsg.NewPtrDescribeTopicPartitionsResponse(), left: min(max(req.ResponsePartitionLimit, 1), d.max)}
	if err := call.Reserve(ctx, topicadmin.Cost(names(req))+int64(p.left)*partitionCost); err != nil {
		return nil, err
	}
	if !cursorFits(req) {
		for _, t := range req.Topics {
			p.add(t.Topic, backend.Topic{}, kerr.InvalidRequest.Code)
		}
		return p.resp, nil
	}
	if req.Cursor != nil {
		p.cursor = *req.Cursor
	}
	if len(req.Topics) > 0 {
		p.named(ctx, slices.Sorted(names(req)))
		return p.resp, nil
	}
	// There is no code for "I do not know", and no topics reads as "none
	// exist": the connection closes when the backend fails.
	all, err := d.topics.AllTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing all topics: %w", err)
	}
	p.all(ctx, all)
	return p.resp, nil
}

func names(req *kmsg.DescribeTopicPartitionsRequest) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range req.Topics {
			if !yield(req.Topics[i].Topic) {
				return
			}
		}
	}
}

// cursorFits reports whether the cursor, if there is one, can be where a page of
// this request begins.
func cursorFits(req *kmsg.DescribeTopicPartitionsRequest) bool {
	c := req.Cursor
	return c == nil || c.Partition >= 0 && (len(req.Topics) == 0 ||
		slices.ContainsFunc(req.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == c.Topic }))
}

// page is an answer that is being filled.
type page struct {
	describer
	call   handler.Call
	resp   *kmsg.DescribeTopicPartitionsResponse
	left   int32 // partitions that still fit
	cursor kmsg.DescribeTopicPartitionsRequestCursor
}

// named fills the page with the named topics, which are sorted. Those that may not
// be described follow at its end, all of them from the cursor on: they take no
// place, and no cursor names them.
func (p *page) named(ctx context.Context, names []string) {
	full := false
	var denied []string
	for i, name := range names {
		switch {
		case name < p.cursor.Topic || i > 0 && name == names[i-1]:
		case !topicadmin.AllowedTopic(ctx, p.call, kmsg.ACLOperationDescribe, name):
			denied = append(denied, name)
		case !full:
			full = !p.one(ctx, name)
		}
	}
	for _, name := range denied {
		p.add(name, backend.Topic{}, kerr.TopicAuthorizationFailed.Code)
	}
}

// one adds a named topic, and reports whether the page goes on.
func (p *page) one(ctx context.Context, name string) bool {
	if p.left == 0 {
		p.end(name, 0)
		return false
	}
	topic, code := p.find(ctx, name)
	if code == 0 {
		return p.fill(ctx, topic)
	}
	p.add(name, topic, code).AuthorizedOperations = p.operations(ctx, name)
	return true
}

func (p *page) find(ctx context.Context, name string) (backend.Topic, int16) {
	if topicname.Check(name) != nil {
		return backend.Topic{}, kerr.InvalidTopicException.Code
	}
	topic, err := p.topics.Topic(ctx, name)
	if errors.Is(err, backend.ErrUnknownTopic) {
		return backend.Topic{}, kerr.UnknownTopicOrPartition.Code
	}
	return topic, errcode.Topics(err)
}

// all fills the page with the topics of the list, which are sorted, as far as they
// may be described.
func (p *page) all(ctx context.Context, topics []backend.Topic) {
	for i := range topics {
		switch t := &topics[i]; {
		case t.Name < p.cursor.Topic:
		case !p.call.Shown(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, t.Name):
		case p.left == 0:
			p.end(t.Name, 0)
			return
		case !p.fill(ctx, *t):
			return
		}
	}
}

// fill adds a topic, from the cursor's partition on when it is the cursor's. It
// reports whether the page ended not within it.
func (p *page) fill(ctx context.Context, topic backend.Topic) bool {
	first := int32(0)
	if topic.Name == p.cursor.Topic {
		first = min(p.cursor.Partition, topic.Partitions)
	}
	n := min(topic.Partitions-first, p.left)
	answer := p.add(topic.Name, topic, 0)
	answer.AuthorizedOperations = p.operations(ctx, topic.Name)
	answer.Partitions = make([]kmsg.DescribeTopicPartitionsResponseTopicPartition, n)
	replicas, none := []int32{p.node.ID}, []int32{}
	for i := range answer.Partitions {
		to := &answer.Partitions[i]
		to.Default()
		to.Partition, to.LeaderID, to.LeaderEpoch = first+int32(i), p.node.ID, 0
		to.Replicas, to.ISR = replicas, replicas
		to.EligibleLeaderReplicas, to.LastKnownELR, to.OfflineReplicas = none, none, none
	}
	p.left -= n
	if first+n < topic.Partitions {
		p.end(topic.Name, first+n)
		return false
	}
	return true
}

func (p *page) operations(ctx context.Context, topic string) int32 {
	return p.call.Operations(ctx, kmsg.ACLResourceTypeTopic, topic)
}

// add adds a topic without partitions and without authorized operations.
func (p *page) add(name string, topic backend.Topic, code int16) *kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.TopicID, t.ErrorCode = &name, topic.ID, code
	t.AuthorizedOperations = handler.OmittedOperations
	p.resp.Topics = append(p.resp.Topics, t)
	return &p.resp.Topics[len(p.resp.Topics)-1]
}

// end says where the next page begins.
func (p *page) end(topic string, partition int32) {
	next := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	next.Topic, next.Partition = topic, partition
	p.resp.NextCursor = &next
}
