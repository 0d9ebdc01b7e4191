// Package leavegroup answers LeaveGroup (key 13), versions 0 to 5: members
// leave a classic consumer group, so that the others need not wait for their
// sessions to end.
//
// Up to v2 one member leaves and its code stands at the top level. KIP-345 (v3)
// lets several leave at once, by member id or instance id, with a code each;
// KIP-800 (v5) adds a reason, which is read and ignored.
package leavegroup

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// several is the first version that names a list of members (KIP-345).
const several = 3

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.LeaveGroupResponse, code int16) { r.ErrorCode = code })

// New returns the handler over the given coordinator.
func New(groups coordinator.Leaver) handler.Handler {
	return handler.New(0, 5, shape, badRequest, leaver{groups}.leave, handler.Authorizes(handler.Check{
		Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeGroup, Of: "the group",
		Code: kerr.GroupAuthorizationFailed.Code,
	}))
}

type leaver struct{ groups coordinator.Leaver }

func (l leaver) leave(ctx context.Context, call handler.Call, req *kmsg.LeaveGroupRequest) (*kmsg.LeaveGroupResponse, error) {
	resp := kmsg.NewPtrLeaveGroupResponse()
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup, req.Group) {
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	leaving := identities(req)
	refused, codes := l.groups.Leave(ctx, req.Group, leaving)
	if refused != coordinator.None {
		resp.ErrorCode = int16(refused)
		return resp, nil
	}
	if len(codes) != len(leaving) {
		return nil, fmt.Errorf("coordinator gave %d codes for %d leaving members", len(codes), len(leaving))
	}
	if req.Version < several {
		resp.ErrorCode = int16(codes[0])
		return resp, nil
	}
	for i, identity := range leaving {
		member := kmsg.NewLeaveGroupResponseMember()
		member.MemberID, member.InstanceID = identity.MemberID, identity.InstanceID
		member.ErrorCode = int16(codes[i])
		resp.Members = append(resp.Members, member)
	}
	return resp, nil
}

// identities returns who leaves, in the order of the request.
func identities(req *kmsg.LeaveGroupRequest) []coordinator.Identity {
	if req.Version < several {
		return []coordinator.Identity{{MemberID: req.MemberID}}
	}
	all := make([]coordinator.Identity, len(req.Members))
	for i, m := range req.Members {
		all[i] = coordinator.Identity{MemberID: m.MemberID, InstanceID: m.InstanceID}
	}
	return all
}
