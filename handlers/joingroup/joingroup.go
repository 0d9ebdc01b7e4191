// Package joingroup answers JoinGroup (key 11), versions 0 to 9: a member
// enters a classic consumer group, or comes back for the next generation.
//
// The call waits until the group's join is complete, so the answer can take as
// long as the longest rebalance timeout of the members. The coordinator decides
// everything; this package translates.
//
// KIP-62 (v1: rebalance timeout), KIP-394 (v4: a newcomer is sent away with an
// id first), KIP-345 (v5: instance ids), KIP-559 (v7: protocol type), KIP-800
// (v8: reason, read and ignored), KIP-814 (v9: skip_assignment). The consumer
// groups of KIP-848 use another key and are not served.
package joingroup

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// The versions from which on a client can be told more.
const (
	idRequired = 4 // KIP-394: MEMBER_ID_REQUIRED and an id to join again with
	canSkip    = 9 // KIP-814: skip_assignment
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
// Generation −1 is the response's default.
var badRequest = handler.InvalidRequest(func(r *kmsg.JoinGroupResponse, code int16) { r.ErrorCode = code })

// New returns the handler over the given coordinator.
func New(groups coordinator.Joiner) handler.Handler {
	return handler.New(0, 9, shape, badRequest, joiner{groups}.join, handler.Authorizes(handler.Check{
		Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeGroup, Of: "the group",
		Code: kerr.GroupAuthorizationFailed.Code,
	}))
}

type joiner struct{ groups coordinator.Joiner }

// join parks until the group's join is complete. When the gateway shuts down
// meanwhile the coordinator's answer is NOT_COORDINATOR, which makes the client
// look for its coordinator again.
func (j joiner) join(ctx context.Context, call handler.Call, req *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, error) {
	if !call.Allowed(ctx, kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup, req.Group) {
		return response(coordinator.JoinResult{Code: coordinator.Code(kerr.GroupAuthorizationFailed.Code)}), nil
	}
	wait, stop := call.Park(ctx)
	defer stop()
	joined := j.groups.Join(wait, coordinator.JoinRequest{
		Group:             req.Group,
		MemberID:          req.MemberID,
		InstanceID:        req.InstanceID,
		ClientID:          call.ClientID,
		ClientHost:        call.Host,
		SessionTimeout:    milliseconds(req.SessionTimeoutMillis),
		RebalanceTimeout:  milliseconds(req.RebalanceTimeoutMillis),
		ProtocolType:      req.ProtocolType,
		Protocols:         protocols(req.Protocols),
		RequireMemberID:   req.Version >= idRequired,
		CanSkipAssignment: req.Version >= canSkip,
	})
	// A leader's answer holds the metadata of all members, and calls that are
	// parked for one member all get that member's answer: each pays for its own.
	if err := call.Reserve(ctx, size(joined.Members)); err != nil {
		return nil, err
	}
	return response(joined), nil
}

// response translates a result. Protocol type and name stay null in a refusal;
// below v7 the codec writes a null protocol as "".
func response(joined coordinator.JoinResult) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = int16(joined.Code)
	resp.MemberID = joined.MemberID
	if joined.Code != coordinator.None {
		return resp
	}
	resp.Generation = joined.Generation
	resp.ProtocolType = &joined.ProtocolType
	resp.Protocol = &joined.Protocol
	resp.LeaderID = joined.LeaderID
	resp.SkipAssignment = joined.SkipAssignment
	for _, m := range joined.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.InstanceID, member.ProtocolMetadata = m.MemberID, m.InstanceID, m.Metadata
		resp.Members = append(resp.Members, member)
	}
	return resp
}

func protocols(sent []kmsg.JoinGroupRequestProtocol) []coordinator.Protocol {
	all := make([]coordinator.Protocol, len(sent))
	for i, p := range sent {
		all[i] = coordinator.Protocol{Name: p.Name, Metadata: p.Metadata}
	}
	return all
}

// memberSize is what a member takes in the answer apart from its own bytes: the
// decoded value and the length prefixes.
const memberSize = 96

// size returns about how many bytes the members of an answer take.
func size(members []coordinator.JoinedMember) int64 {
	var sum int64
	for _, m := range members {
		sum += memberSize + int64(len(m.MemberID)+len(m.Metadata))
		if m.InstanceID != nil {
			sum += int64(len(*m.InstanceID))
		}
	}
	return sum
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
