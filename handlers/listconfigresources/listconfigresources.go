// Package listconfigresources answers ListConfigResources (key 74), versions 0
// and 1: the names that configs can be asked for.
//
// KIP-714 (v0: client metrics), KIP-1142 (v1: all types of resources).
package listconfigresources

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.ListConfigResourcesResponse, code int16) { r.ErrorCode = code })

// The types of resources, by Kafka's numbers.
const (
	topic         = int8(kmsg.ConfigResourceTypeTopic)
	broker        = int8(kmsg.ConfigResourceTypeBroker)
	brokerLogger  = int8(kmsg.ConfigResourceTypeBrokerLogger)
	clientMetrics = int8(kmsg.ConfigResourceTypeClientMetrics)
	group         = int8(kmsg.ConfigResourceTypeGroupConfig)
)

// all are the types that Kafka knows. Only topics and the broker have resources
// here.
var all = []int8{brokerLogger, broker, topic, clientMetrics, group}

// New returns the handler.
func New(topics backend.Topics, node *settings.Node) handler.Handler {
	return handler.New(0, 1, shape, badRequest, lister{topics, node}.list,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationDescribeConfigs)))
}

type lister struct {
	topics backend.Topics
	node   *settings.Node
}

type resource = kmsg.ListConfigResourcesResponseConfigResource

func (l lister) list(ctx context.Context, call handler.Call, req *kmsg.ListConfigResourcesRequest) (*kmsg.ListConfigResourcesResponse, error) {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	types := req.ResourceTypes
	switch {
	case !call.AllowedCluster(ctx, kmsg.ACLOperationDescribeConfigs):
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil
	case req.Version == 0:
		types = []int8{clientMetrics}
	case len(types) == 0:
		types = all
	}
	for _, t := range types {
		if !slices.Contains(all, t) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			return resp, nil
		}
	}
	var topics []backend.Topic
	if slices.Contains(types, topic) {
		var err error
		if topics, err = l.topics.AllTopics(ctx); err != nil {
			resp.ErrorCode = errcode.Topics(err)
			return resp, nil
		}
	}
	return l.answer(ctx, call, resp, slices.Contains(types, broker), topics)
}

// answer lists the broker, if that is asked for, and the topics.
func (l lister) answer(ctx context.Context, call handler.Call, resp *kmsg.ListConfigResourcesResponse, withBroker bool, topics []backend.Topic) (*kmsg.ListConfigResourcesResponse, error) {
	var names []string
	if withBroker {
		names = append(names, strconv.Itoa(int(l.node.ID)))
	}
	brokers := len(names)
	for i := range topics {
		names = append(names, topics[i].Name)
	}
	size := price(names)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("ListConfigResources answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+int64(len(names))*resourceMemory); err != nil {
		return nil, err
	}
	resp.ConfigResources = make([]resource, len(names))
	for i, name := range names {
		resp.ConfigResources[i] = resource{Name: name, Type: topic}
		if i < brokers {
			resp.ConfigResources[i].Type = broker
		}
	}
	return resp, nil
}

// resourceMemory is what a resource of the answer takes in memory beside its
// bytes on the wire: the topic, the name and the decoded value.
const resourceMemory = int64(unsafe.Sizeof(backend.Topic{}) + unsafe.Sizeof("") + unsafe.Sizeof(resource{}))

// price is the size of the answer at v1 as its encoder will write it, header
// included and the frame's length prefix not. v0 lists nothing.
func price(names []string) int64 {
	layout := encoded.Flexible
	size := layout.Header() + 4 + 2 + layout.Array(len(names)) + layout.Tags()
	for _, name := range names {
		size += layout.String(len(name)) + 1 + layout.Tags()
	}
	return size
}
