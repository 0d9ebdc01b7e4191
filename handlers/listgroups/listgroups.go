// Package listgroups answers ListGroups (key 16), versions 0 to 5: all groups
// that the coordinator keeps, sorted by id.
//
// KIP-518 (v4) adds the state and a filter over it, KIP-848 (v5) the type,
// which is "classic" for every group, and a filter over it. A filter that names
// a value not in use here matches nothing, and is no error. Listing expires
// nothing: it names no group. Whether a group is listed that has only committed
// offsets is the coordinator's choice: durable does, as Empty, memory does not.
//
// # Size
//
// The answer is priced before it is encoded; above the frame limit the
// connection closes.
package listgroups

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.ListGroupsResponse, code int16) { r.ErrorCode = code })

// New returns the handler over the given coordinator.
func New(groups coordinator.Lister) handler.Handler {
	return handler.New(0, 5, shape, badRequest, lister{groups}.list, handler.Sized(size), handler.Authorizes(
		handler.Check{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster},
		handler.Check{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeGroup, Of: "each group", When: "or else"},
	))
}

type lister struct{ groups coordinator.Lister }

// list relies on the codec: filters that a version does not have are empty.
func (l lister) list(ctx context.Context, call handler.Call, req *kmsg.ListGroupsRequest) (*kmsg.ListGroupsResponse, error) {
	found := l.groups.List(ctx, coordinator.Filter{States: req.StatesFilter, Types: req.TypesFilter})
	if !call.ShownCluster(ctx, kmsg.ACLOperationDescribe) {
		found = shown(ctx, call, found)
	}
	size := price(req.Version, found)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("ListGroups answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+int64(len(found))*groupMemory); err != nil {
		return nil, err
	}
	return answer(found), nil
}

// shown returns the groups that the caller may describe. The list that it is given
// belongs to others as well.
func shown(ctx context.Context, call handler.Call, all []coordinator.Listing) []coordinator.Listing {
	kept := make([]coordinator.Listing, 0, len(all))
	for i := range all {
		if call.Shown(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup, all[i].Group) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// answer translates the listings. Fields that a version does not have are left
// out by the codec.
func answer(found []coordinator.Listing) *kmsg.ListGroupsResponse {
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Groups = make([]kmsg.ListGroupsResponseGroup, len(found))
	for i := range found {
		from, to := &found[i], &resp.Groups[i]
		to.Default()
		to.Group, to.ProtocolType = from.Group, from.ProtocolType
		to.GroupState, to.GroupType = string(from.State), coordinator.TypeClassic
	}
	return resp
}

// size is a little more than the length of an encoded response, so that a large
// one is written into a buffer that holds it.
func size(resp *kmsg.ListGroupsResponse) int {
	const each = 12 // the lengths of strings and the tags
	n := 2 * each
	for i := range resp.Groups {
		g := &resp.Groups[i]
		n += each + len(g.Group) + len(g.ProtocolType) + len(g.GroupState) + len(g.GroupType)
	}
	return n
}
