// Package deletegroups answers DeleteGroups (key 42), versions 0 to 3: it removes
// groups without members, with all that they have committed.
//
// KIP-229 (v0); v3 has room for messages, which Kafka leaves empty. A group that
// the coordinator has forgotten, or never knew, is there as long as it has
// committed offsets: those go then.
package deletegroups

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
)

// groupMemory is what a group takes beside its name while it is worked on, and
// in the answer, in bytes.
const groupMemory = 128

// New returns the handler over the given coordinator and store. A body that does
// not decode closes the connection: codes are per group, and an answer without
// groups looks like success.
func New(groups coordinator.Remover, offsets backend.Offsets) handler.Handler {
	return handler.New(0, 3, shape, handler.CloseConnection, deleter{groups, offsets}.delete,
		handler.Authorizes(check))
}

var check = handler.Check{Operation: kmsg.ACLOperationDelete, Resource: kmsg.ACLResourceTypeGroup, Of: "each group",
	Code: kerr.GroupAuthorizationFailed.Code}

type deleter struct {
	groups  coordinator.Remover
	offsets backend.Offsets
}

// delete answers each group once, in the order of the first mention.
func (d deleter) delete(ctx context.Context, call handler.Call, req *kmsg.DeleteGroupsRequest) (*kmsg.DeleteGroupsResponse, error) {
	cost := int64(0)
	for _, group := range req.Groups {
		cost += groupMemory + int64(len(group))
	}
	if err := call.Reserve(ctx, cost); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDeleteGroupsResponse()
	answered := make(map[string]bool, len(req.Groups))
	for _, group := range req.Groups {
		if answered[group] {
			continue
		}
		answered[group] = true
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = group, kerr.GroupAuthorizationFailed.Code
		if call.Allowed(ctx, kmsg.ACLOperationDelete, kmsg.ACLResourceTypeGroup, group) {
			g.ErrorCode = d.remove(ctx, group)
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp, nil
}

// remove deletes one group. Nothing is begun once the client has gone.
func (d deleter) remove(ctx context.Context, group string) int16 {
	if err := ctx.Err(); err != nil {
		return errcode.Offsets(err)
	}
	switch code := d.groups.Remove(ctx, group); code {
	case coordinator.None:
	case coordinator.GroupIDNotFound:
		committed, err := d.offsets.FetchOffsets(ctx, group, nil)
		if err != nil {
			return errcode.Offsets(err)
		}
		if len(committed) == 0 {
			return int16(code)
		}
	default:
		return int16(code)
	}
	return errcode.Offsets(d.offsets.DeleteOffsets(ctx, group))
}
