// Package syncgroup answers SyncGroup (key 14), versions 0 to 5: the leader of
// a classic consumer group hands in who gets what, and every member picks up
// its own part.
//
// A follower's call waits for the leader's. KIP-345 (v3: instance ids), KIP-559
// (v5: protocol type and name, which must match the group's).
package syncgroup

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// namesProtocol is the first version that must name protocol type and protocol
// (KIP-559).
const namesProtocol = 5

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.SyncGroupResponse, code int16) { r.ErrorCode = code })

// New returns the handler over the given coordinator.
func New(groups coordinator.Syncer) handler.Handler {
	return handler.New(0, 5, shape, badRequest, syncer{groups}.sync, handler.Authorizes(handler.Check{
		Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeGroup, Of: "the group",
		Code: kerr.GroupAuthorizationFailed.Code,
	}))
}

type syncer struct{ groups coordinator.Syncer }

// sync parks until the leader has synced. When the gateway shuts down meanwhile
// the coordinator's answer is NOT_COORDINATOR.
func (s syncer) sync(ctx context.Context, call handler.Call, req *kmsg.SyncGroupRequest) (*kmsg.SyncGroupResponse, error) {
	resp := kmsg.NewPtrSyncGroupResponse()
	// Both fields are nullable on the wire but mandatory. Kafka looks at them
	// before anything else, the group id included.
	if req.Version >= namesProtocol && (req.ProtocolType == nil || req.Protocol == nil) {
		resp.ErrorCode = kerr.InconsistentGroupProtocol.Code
		return resp, nil
	}
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup, req.Group) {
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	wait, stop := call.Park(ctx)
	defer stop()
	synced := s.groups.Sync(wait, coordinator.SyncRequest{
		Group:        req.Group,
		MemberID:     req.MemberID,
		InstanceID:   req.InstanceID,
		Generation:   req.Generation,
		ProtocolType: req.ProtocolType,
		Protocol:     req.Protocol,
		Assignments:  assignments(req.GroupAssignment),
	})
	resp.ErrorCode = int16(synced.Code)
	if synced.Code == coordinator.None {
		resp.ProtocolType = &synced.ProtocolType
		resp.Protocol = &synced.Protocol
		resp.MemberAssignment = synced.Assignment
	}
	return resp, nil
}

func assignments(sent []kmsg.SyncGroupRequestGroupAssignment) []coordinator.Assignment {
	all := make([]coordinator.Assignment, len(sent))
	for i, a := range sent {
		all[i] = coordinator.Assignment{MemberID: a.MemberID, Data: a.MemberAssignment}
	}
	return all
}
