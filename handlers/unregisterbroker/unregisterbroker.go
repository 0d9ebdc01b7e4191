// Package unregisterbroker answers UnregisterBroker (key 64), version 0
// (KIP-631): it removes a broker that is gone for ever from the cluster.
// The one broker that there is answers the request, so nothing is ever removed.
package unregisterbroker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.UnregisterBrokerResponse, code int16) { r.ErrorCode = code })

// New returns the handler.
func New(node *settings.Node) handler.Handler {
	return handler.New(0, 0, shape, badRequest, unregisterer{node}.unregister,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type unregisterer struct{ node *settings.Node }

func (u unregisterer) unregister(ctx context.Context, call handler.Call, req *kmsg.UnregisterBrokerRequest) (*kmsg.UnregisterBrokerResponse, error) {
	fault := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter)
	switch {
	case !fault.OK():
	case req.BrokerID != u.node.ID:
		fault = topicadmin.Refuse(kerr.BrokerIDNotRegistered, "Broker ID %d is not currently registered", req.BrokerID)
	default:
		fault = topicadmin.Refuse(kerr.PolicyViolation,
			"Broker %d is the gateway that answers you, and the only one: it cannot be unregistered.", req.BrokerID)
	}
	resp := kmsg.NewPtrUnregisterBrokerResponse()
	resp.ErrorCode, resp.ErrorMessage = fault.Code, fault.Message
	return resp, nil
}
