// Package metadata answers Metadata (key 3), versions 0 to 13: the broker, and
// the topics a client asks for with their partitions.
//
// A null list of topics asks for all (at version 0 an empty one does); an empty
// one asks for the broker alone. A topic that is named twice is answered once,
// in the order of the first mention. Version 4 adds the flag that allows to
// create missing topics (KIP-361), version 8 authorized operations (KIP-430),
// version 10 topic ids in answers (KIP-516), version 12 requests by id, and
// version 13 a top-level code (KIP-1102), which is always 0 here.
//
// # Creation
//
// A missing topic is created when the configuration and the client allow it
// (clients before version 4 always do), before the answer, which shows it. Two
// clients that name a new topic at once both get it. Topics are never created
// when all are asked for, nor by id.
//
// # Size
//
// The answer is priced before it is built. Above the frame limit the connection
// closes: a part of the list would make the other topics look deleted. The
// topics of an answer share their partitions; a wrapper that changes one must
// copy it first.
package metadata

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/settings"
)

// New returns the handler.
func New(topics backend.Topics, c *cluster.Cluster, cfg settings.Topics) handler.Handler {
	return handler.New(0, 13, shape, handler.CloseConnection, server{topics, c, cfg}.metadata, handler.Authorizes(checks...))
}

// checks are what is asked of an authorizer.
var checks = []handler.Check{
	{
		Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		Code: kerr.TopicAuthorizationFailed.Code, When: "the request names topics",
	},
	{
		Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
		When: "the request asks for all",
	},
	{
		Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster,
		Code: kerr.TopicAuthorizationFailed.Code, When: "a missing topic would be created",
	},
	{
		Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Of: "each missing topic",
		Code: kerr.TopicAuthorizationFailed.Code, When: "or else",
	},
	{
		Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster,
		When: "authorized operations of the cluster are asked for, which are 0 where this is refused",
	},
	handler.AsksOperations(kmsg.ACLResourceTypeCluster, ""),
	handler.AsksOperations(kmsg.ACLResourceTypeTopic, "each topic"),
}

type server struct {
	topics  backend.Topics
	cluster *cluster.Cluster
	cfg     settings.Topics
}

// entry is one topic of the answer before it is built.
type entry struct {
	name       *string
	id         [16]byte
	code       int16
	partitions int32
}

// shown reports whether the entry is about a topic that the caller may describe, if
// it is there.
func (e *entry) shown() bool {
	return e.name != nil && e.code != kerr.InvalidRequest.Code && e.code != kerr.TopicAuthorizationFailed.Code
}

func (s server) metadata(ctx context.Context, call handler.Call, req *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	p := plan{version: req.Version, host: call.Listener.Host, port: call.Listener.Port}
	if id, err := s.cluster.ID(ctx); err == nil {
		p.clusterID = &id // nullable, so a client can do without
	}

	var err error
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		// There is no code for "I do not know", and no topics reads as "none
		// exist": the connection closes when the backend fails.
		p.topics, err = s.all(ctx, call)
	} else {
		p.topics = s.named(ctx, call, req)
	}
	if err != nil {
		return nil, fmt.Errorf("listing all topics: %w", err)
	}

	price := p.price()
	if price > int64(call.MaxFrame) {
		return nil, fmt.Errorf("metadata of %d topics takes %d bytes, more than max_frame_size %d", len(p.topics), price, call.MaxFrame)
	}
	if err := call.Reserve(ctx, price+p.memory()); err != nil {
		return nil, err
	}
	return s.build(ctx, call, req, p), nil
}

// all returns every topic that the caller may describe, sorted by name.
func (s server) all(ctx context.Context, call handler.Call) ([]entry, error) {
	topics, err := s.topics.AllTopics(ctx)
	entries := make([]entry, 0, len(topics))
	for i := range topics {
		t := &topics[i]
		if call.Shown(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, t.Name) {
			entries = append(entries, found(t))
		}
	}
	return entries, err
}

// build turns a plan into the response. All partitions of one number look the
// same, so the topics of the response share one list of them.
func (s server) build(ctx context.Context, call handler.Call, req *kmsg.MetadataRequest, p plan) *kmsg.MetadataResponse {
	node := s.cluster.Node
	resp := kmsg.NewPtrMetadataResponse()
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = node.ID, p.host, p.port
	resp.Brokers = []kmsg.MetadataResponseBroker{broker}
	resp.ClusterID, resp.ControllerID = p.clusterID, node.ID
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = 0
		if call.AllowedCluster(ctx, kmsg.ACLOperationDescribe) {
			resp.AuthorizedOperations = call.Operations(ctx, kmsg.ACLResourceTypeCluster, security.ClusterName)
		}
	}

	partitions := partitionsOf(node.ID, p.maxPartitions())
	resp.Topics = make([]kmsg.MetadataResponseTopic, len(p.topics))
	for i := range p.topics {
		e, t := &p.topics[i], &resp.Topics[i]
		t.Default()
		t.ErrorCode, t.Topic, t.TopicID = e.code, e.name, e.id
		t.Partitions = partitions[:e.partitions:e.partitions]
		if req.IncludeTopicAuthorizedOperations && e.shown() {
			t.AuthorizedOperations = call.Operations(ctx, kmsg.ACLResourceTypeTopic, *e.name)
		}
	}
	return resp
}

// partitionsOf returns partitions 0 to n−1: led by the node, in epoch 0, with
// the node as only replica.
func partitionsOf(node int32, n int32) []kmsg.MetadataResponseTopicPartition {
	replicas := []int32{node}
	partitions := make([]kmsg.MetadataResponseTopicPartition, n)
	for i := range partitions {
		p := &partitions[i]
		p.Default()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), node, 0
		p.Replicas, p.ISR = replicas, replicas
	}
	return partitions
}
