// Package heartbeat answers Heartbeat (key 12), versions 0 to 4: a member of a
// classic consumer group says that it is alive, and learns whether it has to
// join again.
//
// KIP-345 (v3: instance ids). The heartbeats of KIP-848 and KIP-932 groups use
// other keys and are not served.
package heartbeat

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.HeartbeatResponse, code int16) { r.ErrorCode = code })

// New returns the handler over the given coordinator.
func New(groups coordinator.Heartbeater) handler.Handler {
	return handler.New(0, 4, shape, badRequest, beater{groups}.beat, handler.Authorizes(handler.Check{
		Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeGroup, Of: "the group",
		Code: kerr.GroupAuthorizationFailed.Code,
	}))
}

type beater struct{ groups coordinator.Heartbeater }

func (b beater) beat(ctx context.Context, call handler.Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
	resp := kmsg.NewPtrHeartbeatResponse()
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup, req.Group) {
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	resp.ErrorCode = int16(b.groups.Heartbeat(ctx, coordinator.HeartbeatRequest{
		Group:      req.Group,
		MemberID:   req.MemberID,
		InstanceID: req.InstanceID,
		Generation: req.Generation,
	}))
	return resp, nil
}
