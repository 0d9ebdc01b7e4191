// Package deleteacls answers DeleteACLs (key 31), versions 1 to 3: it removes from the
// access control lists of the gateway's authorizer.
//
// KIP-140, KIP-290.
package deleteacls

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// New returns the handler over an authorizer's ACLs; nil where it has none, or where
// there is no authorizer. No version has a top-level code, so what does not decode
// closes the connection.
func New(acls security.ACLs) handler.Handler {
	return handler.New(1, 3, shape, handler.CloseConnection, deleter{acls}.delete,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type deleter struct{ acls security.ACLs }

type (
	result  = kmsg.DeleteACLsResponseResult
	removed = kmsg.DeleteACLsResponseResultMatchingACL
)

// disabled is the answer where there are no ACLs.
var disabled = topicadmin.Refuse(kerr.SecurityDisabled, "No Authorizer is configured.")

func (d deleter) delete(ctx context.Context, call handler.Call, req *kmsg.DeleteACLsRequest) (*kmsg.DeleteACLsResponse, error) {
	if err := call.Reserve(ctx, int64(len(req.Filters))*filterMemory); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	resp.Results = make([]result, len(req.Filters))
	refused := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter)
	if refused.OK() && d.acls == nil {
		refused = disabled
	}
	if !refused.OK() {
		for i := range resp.Results {
			resp.Results[i] = result{ErrorCode: refused.Code, ErrorMessage: refused.Message, MatchingACLs: []removed{}}
		}
		return resp, nil
	}
	filters := make([]security.ACLFilter, len(req.Filters))
	for i, f := range req.Filters {
		filters[i] = security.ACLFilter{
			Type: f.ResourceType, Pattern: f.ResourcePatternType, Name: f.ResourceName,
			Principal: f.Principal, Host: f.Host, Operation: f.Operation, Permission: f.PermissionType,
		}
	}
	if err := d.pay(ctx, call, req.Version, filters); err != nil {
		return nil, err
	}
	for i, deleted := range d.acls.DeleteACLs(ctx, filters) {
		r := &resp.Results[i]
		r.ErrorCode, r.ErrorMessage = errcode.Refusal(deleted.Err)
		r.MatchingACLs = make([]removed, len(deleted.ACLs))
		for j, acl := range deleted.ACLs {
			r.MatchingACLs[j] = removed{
				ResourceType: acl.Type, ResourceName: acl.Name, ResourcePatternType: acl.Pattern,
				Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.Permission,
			}
		}
	}
	return resp, nil
}

// What a filter, and an ACL that it chooses, take in memory beside their bytes on the
// wire, as found and as answered.
const (
	filterMemory = int64(unsafe.Sizeof(security.ACLFilter{}) + unsafe.Sizeof(security.DeletedACLs{}) + unsafe.Sizeof(result{}))
	aclMemory    = int64(unsafe.Sizeof(security.ACL{}) + unsafe.Sizeof(removed{}))
)

// pay prices the answer before anything is deleted: nobody could be told otherwise
// what was.
func (d deleter) pay(ctx context.Context, call handler.Call, version int16, filters []security.ACLFilter) error {
	layout := encoded.At(version, 2)
	size, found := layout.Header()+4+layout.Array(len(filters))+layout.Tags(), 0
	for _, f := range filters {
		if err := ctx.Err(); err != nil {
			return err
		}
		acls, err := d.acls.DescribeACLs(ctx, f)
		if err != nil {
			break // as the deletion will find out
		}
		found += len(acls)
		if size += price(layout, acls); size > int64(call.MaxFrame) {
			return fmt.Errorf("DeleteAcls answer of %d bytes or more is above max_frame_size %d", size, call.MaxFrame)
		}
	}
	return call.Reserve(ctx, size+int64(found)*aclMemory)
}

// price is the size of the result of one filter, as its encoder will write it.
func price(layout encoded.Layout, acls []security.ACL) int64 {
	size := 2 + layout.Null() + layout.Array(len(acls)) + layout.Tags()
	for _, acl := range acls {
		size += 2 + layout.Null() + 1 + layout.String(len(acl.Name)) + 1 +
			layout.String(len(acl.Principal)) + layout.String(len(acl.Host)) + 1 + 1 + layout.Tags()
	}
	return size
}
