// Package alterconfigs answers AlterConfigs (key 33), versions 0 to 2 (KIP-133).
//
// It replaces: configs of a topic that a request does not name return to their
// default, and an empty list resets them all. Clients since 2.3 use
// IncrementalAlterConfigs instead. Only topics have configs that can be
// changed. Version 2 is flexible; the versions are otherwise the same.
package alterconfigs

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
	a := topicadmin.Alterer{Topics: topics, Catalog: catalog, Node: node.ID, Replace: true}
	return handler.New(0, 2, shape, handler.CloseConnection, server{a}.alter,
		handler.Authorizes(topicadmin.ConfigChecks(kmsg.ACLOperationAlterConfigs)...))
}

type server struct{ alterer topicadmin.Alterer }

func (s server) alter(ctx context.Context, call handler.Call, req *kmsg.AlterConfigsRequest) (*kmsg.AlterConfigsResponse, error) {
	resources := resourcesOf(req)
	if err := call.Reserve(ctx, topicadmin.CostOfAlter(resources)); err != nil {
		return nil, err
	}
	faults := s.alterer.Alter(ctx, call, resources, req.ValidateOnly)

	resp := kmsg.NewPtrAlterConfigsResponse()
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(resources))
	for i, r := range resources {
		to := &resp.Resources[i]
		to.ResourceType, to.ResourceName = r.Type, r.Name
		to.ErrorCode, to.ErrorMessage = faults[i].Code, faults[i].Message
	}
	return resp, nil
}

func resourcesOf(req *kmsg.AlterConfigsRequest) []topicadmin.Resource {
	resources := make([]topicadmin.Resource, len(req.Resources))
	for i, r := range req.Resources {
		resources[i] = topicadmin.Resource{Type: r.ResourceType, Name: r.ResourceName, Configs: make([]topicadmin.Config, len(r.Configs))}
		for j, c := range r.Configs {
			resources[i].Configs[j] = topicadmin.Config{Name: c.Name, Op: kmsg.IncrementalAlterConfigOpSet, Value: c.Value}
		}
	}
	return resources
}
