// Package describeconfigs answers DescribeConfigs (key 32), versions 1 to 4: the
// configs of topics, and of this node.
//
// Version 1 has sources and synonyms (KIP-226), version 3 types and
// documentation (KIP-569), version 4 is flexible. Each resource is answered in
// its place, repeated ones each time; configs are sorted by name, names that do
// not exist are left out. Values are written as Kafka writes them.
//
// # Size
//
// A short request can ask for the same long list many times over. The answer
// is priced while it is built, with the lists shared; above the frame limit the
// connection closes.
package describeconfigs

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicconfig"
	"github.com/iggykafka/gateway/core/topicname"
)

// New returns the handler.
func New(topics backend.Topics, catalog *topicconfig.Catalog, node *settings.Node, broker settings.Broker) handler.Handler {
	return handler.New(1, 4, shape, handler.CloseConnection, server{topics, catalog, node, broker}.describe,
		handler.Authorizes(topicadmin.ConfigChecks(kmsg.ACLOperationDescribeConfigs)...))
}

type server struct {
	topics  backend.Topics
	catalog *topicconfig.Catalog
	node    *settings.Node
	broker  settings.Broker
}

type config = kmsg.DescribeConfigsResponseResourceConfig

// resource is what there is to know of one resource.
type resource struct {
	configs []config
	fault   topicadmin.Fault
}

type identity struct {
	kind kmsg.ConfigResourceType
	name string
}

func (s server) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeConfigsRequest) (*kmsg.DescribeConfigsResponse, error) {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	price, known := newPrice(req), map[identity]resource{}
	for i := range req.Resources {
		asked := &req.Resources[i]
		who, memory := identity{asked.ResourceType, asked.ResourceName}, int64(0)
		found, ok := known[who]
		if !ok {
			found = s.find(ctx, call, req, who)
			known[who] = found
			memory += int64(len(found.configs)) * configMemory
		}
		configs := pick(found.configs, asked.ConfigNames)
		if len(asked.ConfigNames) > 0 {
			memory += int64(len(configs)) * configMemory
		}

		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName, answer.Configs = who.kind, who.name, configs
		answer.ErrorCode, answer.ErrorMessage = found.fault.Code, found.fault.Message
		if answer.ErrorMessage == nil {
			answer.ErrorMessage = new(string) // Kafka sends an empty one
		}
		size := price.resource(&answer)
		if price.sum += size; price.sum > int64(call.MaxFrame) {
			return nil, fmt.Errorf("configs of %d resources take more than max_frame_size %d", len(req.Resources), call.MaxFrame)
		}
		if err := call.Reserve(ctx, size+memory+resourceMemory); err != nil {
			return nil, err
		}
		resp.Resources = append(resp.Resources, answer)
	}
	return resp, nil
}

// The memory in bytes of what an answer consists of, beyond what is encoded.
const (
	configMemory   = int64(unsafe.Sizeof(config{})) + 2*int64(unsafe.Sizeof(kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}))
	resourceMemory = int64(unsafe.Sizeof(kmsg.DescribeConfigsResponseResource{})) + int64(unsafe.Sizeof(resource{}))
)

func (s server) find(ctx context.Context, call handler.Call, req *kmsg.DescribeConfigsRequest, who identity) resource {
	if denied := topicadmin.AllowedConfigs(ctx, call, kmsg.ACLOperationDescribeConfigs, who.kind, who.name); !denied.OK() {
		return resource{fault: denied}
	}
	switch who.kind {
	case kmsg.ConfigResourceTypeTopic:
		return s.topic(ctx, req, who.name)
	case kmsg.ConfigResourceTypeBroker:
		return s.describeBroker(req, who.name)
	}
	return resource{fault: topicadmin.Refuse(kerr.InvalidRequest, "Unsupported resource type: %d", int8(who.kind))}
}

func (s server) topic(ctx context.Context, req *kmsg.DescribeConfigsRequest, name string) resource {
	if err := topicname.Check(name); err != nil {
		return resource{fault: topicadmin.Refuse(kerr.InvalidTopicException, "%v", err)}
	}
	topic, err := s.topics.Topic(ctx, name)
	if err != nil {
		return resource{fault: topicadmin.Failed(err)}
	}
	entries := s.catalog.Entries(topic.Overrides)
	configs := make([]config, len(entries))
	for i := range entries {
		e, c := &entries[i], &configs[i]
		c.Default()
		c.Name, c.Value, c.Source, c.ConfigType = e.Name, &e.Value, e.Source, e.Type
		if req.IncludeDocumentation {
			c.Documentation = &e.Documentation
		}
		if req.IncludeSynonyms {
			for j := range e.Synonyms {
				c.ConfigSynonyms = append(c.ConfigSynonyms, synonym(&e.Synonyms[j]))
			}
		}
	}
	return resource{configs: configs}
}

func synonym(from *topicconfig.Synonym) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	to := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
	to.Name, to.Value, to.Source = from.Name, &from.Value, from.Source
	return to
}

// pick returns the configs that are asked for: all when no name is given.
func pick(configs []config, names []string) []config {
	if len(names) == 0 || len(configs) == 0 {
		return configs
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	var picked []config
	for i := range configs {
		if wanted[configs[i].Name] {
			picked = append(picked, configs[i])
		}
	}
	return picked
}
