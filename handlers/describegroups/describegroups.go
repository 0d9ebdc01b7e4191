// Package describegroups answers DescribeGroups (key 15), versions 0 to 6: what
// the coordinator knows of the named classic groups and their members, read
// from the same memory that serves join, sync, heartbeat and leave.
//
// A group without members is what the coordinator makes of it: Empty, or not
// there. A group that is not there is Dead, with error 0 up to v5 and
// GROUP_ID_NOT_FOUND from v6 on (KIP-1043). KIP-345 (v4) adds instance ids.
// Authorized operations (KIP-430, v3) are computed where there is an authorizer;
// else the field stays at its omitted value. Groups of KIP-848 and KIP-932 have keys of their own.
//
// # Size
//
// An answer depends on what others have stored, so its exact size on the wire
// is known before any member is copied; above the frame limit the connection
// closes.
package describegroups

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// New returns the handler over the given coordinator. A body that does not
// decode closes the connection: there is no top-level error code, and an empty
// list of groups would look like success.
func New(groups coordinator.Describer) handler.Handler {
	return handler.New(0, 6, shape, handler.CloseConnection, describer{groups}.describe, handler.Sized(size), handler.Authorizes(
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeGroup, Of: "each group",
			Code: kerr.GroupAuthorizationFailed.Code,
		},
		handler.AsksOperations(kmsg.ACLResourceTypeGroup, "each group"),
	))
}

type describer struct{ groups coordinator.Describer }

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
	if err := call.Reserve(ctx, int64(len(req.Groups))*groupMemory); err != nil {
		return nil, err
	}
	ids, denied := visible(ctx, call, distinct(req.Groups))
	tab := newTab(req.Version, len(ids)+len(denied), call)
	if err := tab.refuse(denied); err != nil {
		return nil, err
	}
	found, err := d.groups.Describe(ctx, ids, tab.bill())
	if errors.Is(err, coordinator.ErrTooLarge) {
		return nil, fmt.Errorf("DescribeGroups answer of at least %d bytes, max_frame_size is %d: %w", tab.tooLarge(), call.MaxFrame, err)
	}
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, 0, len(denied)+len(found))
	for _, id := range denied { // first, as in Kafka
		resp.Groups = append(resp.Groups, refuse(id))
	}
	for i := range found {
		g := group(req.Version, &found[i])
		if call.Access != nil && req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = call.Operations(ctx, kmsg.ACLResourceTypeGroup, g.Group)
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp, nil
}

// visible splits ids into those of groups that the caller may describe, and others.
func visible(ctx context.Context, call handler.Call, ids []string) (shown, denied []string) {
	if call.Access == nil {
		return ids, nil
	}
	shown = ids[:0]
	for _, id := range ids {
		if call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup, id) {
			shown = append(shown, id)
		} else {
			denied = append(denied, id)
		}
	}
	return shown, denied
}

// refuse is the entry of a group that the caller may not describe, be it there or
// not.
func refuse(id string) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.ErrorCode = id, kerr.GroupAuthorizationFailed.Code
	g.Members = []kmsg.DescribeGroupsResponseGroupMember{}
	return g
}

// group translates one description. Below v6 a group that is not there carries
// no error: its state says it.
func group(version int16, d *coordinator.Description) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.State = d.Group, string(d.State)
	g.ProtocolType, g.Protocol = d.ProtocolType, d.Protocol
	if text := message(version, d.Group, d.State); text != nil {
		g.ErrorCode, g.ErrorMessage = kerr.GroupIDNotFound.Code, text
	}
	g.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(d.Members))
	for i := range d.Members {
		from, to := &d.Members[i], &g.Members[i]
		to.Default()
		to.MemberID, to.InstanceID = from.MemberID, from.InstanceID
		to.ClientID, to.ClientHost = from.ClientID, from.ClientHost
		to.ProtocolMetadata, to.MemberAssignment = from.Metadata, from.Assignment
	}
	return g
}

// notFoundSince is the first version that says GROUP_ID_NOT_FOUND (KIP-1043).
const notFoundSince = 6

// message is the text for a group that is not there; nil for others, and at
// versions that have no such text.
func message(version int16, id string, state coordinator.State) *string {
	if version < notFoundSince || state != coordinator.Dead {
		return nil
	}
	text := "Group " + id + " not found."
	return &text
}

// distinct returns the ids without repeats, in the order of their first
// appearance.
func distinct(ids []string) []string {
	seen := make(map[string]struct{}, len(ids))
	kept := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, repeated := seen[id]; !repeated {
			seen[id] = struct{}{}
			kept = append(kept, id)
		}
	}
	return kept
}

// size is a little more than the length of most encoded responses, so that a
// large one is written into a buffer that holds it.
func size(resp *kmsg.DescribeGroupsResponse) int {
	const each = 64 // the fixed fields, and the lengths of the others
	n := each
	for i := range resp.Groups {
		g := &resp.Groups[i]
		n += each + len(g.Group) + len(g.ProtocolType) + len(g.Protocol)
		for j := range g.Members {
			m := &g.Members[j]
			n += each + len(m.MemberID) + len(m.ProtocolMetadata) + len(m.MemberAssignment)
		}
	}
	return n
}
