// Package incrementalalterconfigs answers IncrementalAlterConfigs (key 44),
// versions 0 and 1 (KIP-339).
//
// It sets and deletes single configs of a topic, and appends to or subtracts
// from those that are lists; the others stay. The changes of one resource
// happen together or not at all. Only topics have configs that can be changed.
// Version 1 is flexible; the versions are otherwise the same.
package incrementalalterconfigs

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// New returns the handler.
func New(topics backend.Topics, catalog *topicconfig.Catalog, node *settings.Node) handler.Handler {
	a := topicadmin.Alterer{Topics: topics, Catalog: catalog, Node: node.ID}
	return handler.New(0, 1, shape, handler.CloseConnection, server{a}.alter,
		handler.Authorizes(topicadmin.ConfigChecks(kmsg.ACLOperationAlterConfigs)...))
}

type server struct{ alterer topicadmin.Alterer }

func (s server) alter(ctx context.Context, call handler.Call, req *kmsg.IncrementalAlterConfigsRequest) (*kmsg.IncrementalAlterConfigsResponse, error) {
	resources := resourcesOf(req)
	if err := call.Reserve(ctx, topicadmin.CostOfAlter(resources)); err != nil {
		return nil, err
	}
	faults := s.alterer.Alter(ctx, call, resources, req.ValidateOnly)

	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(resources))
	for i, r := range resources {
		to := &resp.Resources[i]
		to.ResourceType, to.ResourceName = r.Type, r.Name
		to.ErrorCode, to.ErrorMessage = faults[i].Code, faults[i].Message
	}
	return resp, nil
}

func resourcesOf(req *kmsg.IncrementalAlterConfigsRequest) []topicadmin.Resource {
	resources := make([]topicadmin.Resource, len(req.Resources))
	for i, r := range req.Resources {
		resources[i] = topicadmin.Resource{Type: r.ResourceType, Name: r.ResourceName, Configs: make([]topicadmin.Config, len(r.Configs))}
		for j, c := range r.Configs {
			resources[i].Configs[j] = topicadmin.Config{Name: c.Name, Op: c.Op, Value: c.Value}
		}
	}
	return resources
}
