// Package createtopics answers CreateTopics (key 19), versions 2 to 7.
//
// Version 4 lets a client leave the number of partitions and the replication
// factor to the broker with −1 (KIP-464); it is accepted at every version.
// Version 5 (KIP-525) shows the partitions, replication factor and configs of
// the new topic in the answer, version 7 (KIP-516) its id.
//
// A request can be faulty as a whole: a timeout that has passed already, or
// more new partitions than one request may add. Otherwise each topic stands
// for itself. With validate_only the same is checked and nothing created.
package createtopics

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// New returns the handler.
func New(topics backend.Topics, catalog *topicconfig.Catalog, node *settings.Node, cfg settings.Topics) handler.Handler {
	return handler.New(2, 7, shape, handler.CloseConnection, creator{topics, catalog, node, cfg}.create, handler.Authorizes(checks...))
}

type creator struct {
	topics  backend.Topics
	catalog *topicconfig.Catalog
	node    *settings.Node
	cfg     settings.Topics
}

// strictSince is the version whose clients know THROTTLING_QUOTA_EXCEEDED (KIP-599).
const strictSince = 6

// createdCost is the memory in bytes that the configs of a new topic take in
// the answer, as Go values and encoded.
const createdCost = 8 << 10

func (c creator) create(ctx context.Context, call handler.Call, req *kmsg.CreateTopicsRequest) (*kmsg.CreateTopicsResponse, error) {
	// A topic that is made has at least one partition.
	made := min(int64(len(req.Topics)), int64(c.cfg.MaxNewPartitions))
	if err := call.Reserve(ctx, topicadmin.Cost(names(req))+made*createdCost); err != nil {
		return nil, err
	}
	repeated := topicadmin.Repeated(names(req))
	denied := refused(ctx, call, req, repeated)
	if fault := c.checkRequest(req, func(name string) bool { return repeated[name] || denied[name] }); !fault.OK() {
		return refuseAll(req, fault), nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	defer cancel()

	resp := kmsg.NewPtrCreateTopicsResponse()
	check := checker{
		creator: c, call: call, validateOnly: req.ValidateOnly, strict: req.Version >= strictSince,
		collisions: topicadmin.Collisions{Topics: c.topics},
	}
	answered := map[string]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		switch {
		case denied[t.Topic]:
			resp.Topics = append(resp.Topics, refuse(t.Topic, denial))
		case !repeated[t.Topic]:
			resp.Topics = append(resp.Topics, check.one(ctx, t))
		case !answered[t.Topic]:
			answered[t.Topic] = true
			resp.Topics = append(resp.Topics, refuse(t.Topic, topicadmin.DuplicateName))
		}
	}
	return resp, nil
}

func names(req *kmsg.CreateTopicsRequest) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range req.Topics {
			if !yield(req.Topics[i].Topic) {
				return
			}
		}
	}
}

// checkRequest finds what refuses the request as a whole, on account of the topics
// that are not refused already.
func (c creator) checkRequest(req *kmsg.CreateTopicsRequest, refused func(name string) bool) topicadmin.Fault {
	left, sum := false, int64(0)
	for i := range req.Topics {
		if t := &req.Topics[i]; !refused(t.Topic) {
			left = true
			sum += max(0, int64(c.partitions(t)))
		}
	}
	switch {
	case !left:
		return topicadmin.Fault{}
	case req.TimeoutMillis <= 0:
		return topicadmin.TimedOut
	}
	if sum > int64(c.cfg.MaxNewPartitions) {
		return topicadmin.Refuse(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	return topicadmin.Fault{}
}

// partitions returns the number of partitions that a topic would get.
func (c creator) partitions(t *kmsg.CreateTopicsRequestTopic) int32 {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return int32(len(t.ReplicaAssignment)) // #nosec G115 -- below the number of entries in a frame
	case t.NumPartitions == -1:
		return c.cfg.DefaultPartitions
	}
	return t.NumPartitions
}

// one checks one topic and, unless it is only to be validated, creates it.
func (c *checker) one(ctx context.Context, t *kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
	overrides, fault := c.topic(ctx, t)
	if !fault.OK() {
		return refuse(t.Topic, fault)
	}
	wanted := backend.NewTopic{Name: t.Topic, Partitions: c.partitions(t), Overrides: overrides}
	if !c.call.Change(int(wanted.Partitions), c.strict) { // in Kafka, also what is only validated
		return refuse(t.Topic, topicadmin.OverQuota)
	}
	if c.validateOnly {
		return c.created(ctx, backend.Topic{Name: t.Topic, ID: uuid.New(), Partitions: wanted.Partitions, Overrides: overrides})
	}
	topic, err := c.topics.CreateTopic(ctx, wanted)
	if err != nil {
		return refuse(t.Topic, failed(t.Topic, err))
	}
	return c.created(ctx, topic)
}

// created is the answer for a new topic. With validate_only the id is made up,
// as Kafka does.
func (c *checker) created(ctx context.Context, topic backend.Topic) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic, answer.TopicID = topic.Name, topic.ID
	if !c.call.Shown(ctx, kmsg.ACLOperationDescribeConfigs, kmsg.ACLResourceTypeTopic, topic.Name) {
		answer.ConfigErrorCode = kerr.TopicAuthorizationFailed.Code
		answer.NumPartitions, answer.ReplicationFactor = -1, -1
		answer.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		return answer
	}
	answer.NumPartitions, answer.ReplicationFactor = topic.Partitions, 1
	entries := c.catalog.Entries(topic.Overrides)
	answer.Configs = make([]kmsg.CreateTopicsResponseTopicConfig, len(entries))
	for i := range entries {
		config := &answer.Configs[i]
		config.Name, config.Value, config.Source = entries[i].Name, &entries[i].Value, int8(entries[i].Source)
	}
	return answer
}

// refuse is the answer for a topic that was not created.
func refuse(name string, fault topicadmin.Fault) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic, answer.ErrorCode, answer.ErrorMessage = name, fault.Code, fault.Message
	answer.NumPartitions, answer.ReplicationFactor = -1, -1
	answer.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return answer
}

// refuseAll answers every entry of the request alike, repeats too.
func refuseAll(req *kmsg.CreateTopicsRequest, fault topicadmin.Fault) *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, refuse(req.Topics[i].Topic, fault))
	}
	return resp
}
