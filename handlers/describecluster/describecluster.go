// Package describecluster answers DescribeCluster (key 60), versions 0 to 2: the
// cluster's id and its only broker, which is its own controller.
//
// Version 0 is KIP-700, version 1 adds the kind of endpoint (KIP-919), of which
// only brokers are served, and version 2 whether a broker is fenced (KIP-1073),
// which this one never is.
package describecluster

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// The kinds of endpoint of KIP-919.
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

// New returns the handler for a cluster.
func New(c *cluster.Cluster) handler.Handler {
	return handler.New(0, 2, shape, handler.InvalidRequest(refuse), describer{c}.describe,
		handler.Authorizes(checks...))
}

// refuse marks a response as an error: no controller, and no operations.
func refuse(resp *kmsg.DescribeClusterResponse, code int16) {
	resp.ErrorCode = code
	resp.ControllerID = -1
	resp.EndpointType = endpointBrokers
	resp.ClusterAuthorizedOperations = handler.OmittedOperations
}

// checks: what the caller may do with the cluster is only told to those who may
// describe it. Everything else is for everybody.
var checks = []handler.Check{
	{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster, When: "authorized operations are asked for"},
	handler.AsksOperations(kmsg.ACLResourceTypeCluster, ""),
}

type describer struct{ cluster *cluster.Cluster }

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeClusterRequest) (*kmsg.DescribeClusterResponse, error) {
	resp := kmsg.NewPtrDescribeClusterResponse()
	if req.Version >= 1 && req.EndpointType != endpointBrokers {
		code, message := kerr.UnsupportedEndpointType.Code, fmt.Sprintf("Unsupported endpoint type %d", req.EndpointType)
		if req.EndpointType == endpointControllers {
			code, message = kerr.MismatchedEndpointType.Code,
				"The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
		}
		refuse(resp, code)
		resp.ErrorMessage = &message
		return resp, nil
	}
	id, err := d.cluster.ID(ctx)
	if err != nil {
		refuse(resp, errcode.Topics(err))
		return resp, nil
	}
	broker := kmsg.NewDescribeClusterResponseBroker()
	broker.NodeID = d.cluster.Node.ID
	broker.Host, broker.Port = call.Listener.Host, call.Listener.Port
	resp.ClusterID, resp.ControllerID, resp.Brokers = id, broker.NodeID, append(resp.Brokers, broker)
	resp.ClusterAuthorizedOperations = handler.OmittedOperations
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = operations(ctx, call)
	}
	return resp, nil
}

// operations returns the authorized operations of the caller, none for one who may
// not describe the cluster, whatever else it may do.
func operations(ctx context.Context, call handler.Call) int32 {
	if !call.AllowedCluster(ctx, kmsg.ACLOperationDescribe) {
		return 0
	}
	return call.Operations(ctx, kmsg.ACLResourceTypeCluster, security.ClusterName)
}
