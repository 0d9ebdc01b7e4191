// Package createacls answers CreateACLs (key 30), versions 1 to 3: it adds to the
// access control lists of the gateway's authorizer.
//
// KIP-140, KIP-290.
package createacls

import (
	"context"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// New returns the handler over an authorizer's ACLs; nil where it has none, or where
// there is no authorizer. No version has a top-level code, so what does not decode
// closes the connection.
func New(acls security.ACLs) handler.Handler {
	return handler.New(1, 3, shape, handler.CloseConnection, creator{acls}.create,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type creator struct{ acls security.ACLs }

type result = kmsg.CreateACLsResponseResult

// disabled is the answer where there are no ACLs.
var disabled = topicadmin.Refuse(kerr.SecurityDisabled, "No Authorizer is configured.")

// creationMemory is what a creation takes in memory beside the request.
const creationMemory = int64(unsafe.Sizeof(security.ACL{}) + unsafe.Sizeof(result{}) + unsafe.Sizeof(error(nil)))

func (c creator) create(ctx context.Context, call handler.Call, req *kmsg.CreateACLsRequest) (*kmsg.CreateACLsResponse, error) {
	if err := call.Reserve(ctx, int64(len(req.Creations))*creationMemory); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrCreateACLsResponse()
	resp.Results = make([]result, len(req.Creations))
	refused := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter)
	if refused.OK() && c.acls == nil {
		refused = disabled
	}
	if !refused.OK() {
		for i := range resp.Results {
			resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = refused.Code, refused.Message
		}
		return resp, nil
	}
	acls := make([]security.ACL, len(req.Creations))
	for i, n := range req.Creations {
		acls[i] = security.ACL{
			Type: n.ResourceType, Pattern: n.ResourcePatternType, Name: n.ResourceName,
			Principal: n.Principal, Host: n.Host, Operation: n.Operation, Permission: n.PermissionType,
		}
	}
	for i, err := range c.acls.CreateACLs(ctx, acls) {
		r := &resp.Results[i]
		if r.ErrorCode, r.ErrorMessage = errcode.Refusal(err); err == nil {
			r.ErrorMessage = new(string) // Kafka sends an empty one
		}
	}
	return resp, nil
}
