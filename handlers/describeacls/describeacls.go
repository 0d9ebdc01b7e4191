// Package describeacls answers DescribeACLs (key 29), versions 1 to 3: the access
// control lists of the gateway's authorizer.
//
// KIP-140, KIP-290.
package describeacls

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

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeACLsResponse, code int16) { r.ErrorCode = code })

// New returns the handler over an authorizer's ACLs; nil where it has none, or where
// there is no authorizer.
func New(acls security.ACLs) handler.Handler {
	return handler.New(1, 3, shape, badRequest, describer{acls}.describe,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationDescribe)))
}

type describer struct{ acls security.ACLs }

type (
	resource = kmsg.DescribeACLsResponseResource
	entry    = kmsg.DescribeACLsResponseResourceACL
)

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeACLsRequest) (*kmsg.DescribeACLsResponse, error) {
	resp := kmsg.NewPtrDescribeACLsResponse()
	if denied := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationDescribe); !denied.OK() {
		resp.ErrorCode, resp.ErrorMessage = denied.Code, denied.Message
		return resp, nil
	}
	if d.acls == nil {
		text := "No Authorizer is configured on the broker"
		resp.ErrorCode, resp.ErrorMessage = kerr.SecurityDisabled.Code, &text
		return resp, nil
	}
	acls, err := d.acls.DescribeACLs(ctx, security.ACLFilter{
		Type: req.ResourceType, Pattern: req.ResourcePatternType, Name: req.ResourceName,
		Principal: req.Principal, Host: req.Host, Operation: req.Operation, Permission: req.PermissionType,
	})
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = errcode.Refusal(err)
		return resp, nil
	}
	size := price(req.Version, acls)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("DescribeAcls answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+int64(len(acls))*aclMemory); err != nil {
		return nil, err
	}
	resp.ErrorMessage = new(string) // Kafka sends an empty one
	resp.Resources = group(acls)
	return resp, nil
}

// aclMemory is what an ACL of the answer takes in memory beside its bytes on the
// wire, as found and as answered, where each may be of another resource.
const aclMemory = int64(unsafe.Sizeof(security.ACL{}) + unsafe.Sizeof(resource{}) + unsafe.Sizeof(entry{}))

// group puts ACLs of the same resource together; they are sorted by it.
func group(acls []security.ACL) []resource {
	resources := []resource{}
	for i, acl := range acls {
		if i == 0 || !together(acls[i-1], acl) {
			resources = append(resources, resource{
				ResourceType: acl.Type, ResourceName: acl.Name, ResourcePatternType: acl.Pattern,
			})
		}
		last := &resources[len(resources)-1]
		last.ACLs = append(last.ACLs, entry{
			Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.Permission,
		})
	}
	return resources
}

func together(a, b security.ACL) bool {
	return a.Type == b.Type && a.Name == b.Name && a.Pattern == b.Pattern
}

// price is the size of the answer as its encoder will write it, header included and
// the frame's length prefix not.
func price(version int16, acls []security.ACL) int64 {
	layout := encoded.At(version, 2)
	var resources, inLast int
	size := layout.Header() + 4 + 2 + layout.String(0) + layout.Tags()
	for i, acl := range acls {
		if i == 0 || !together(acls[i-1], acl) {
			size += array(layout, inLast) + 1 + layout.String(len(acl.Name)) + 1 + layout.Tags()
			resources, inLast = resources+1, 0
		}
		size += layout.String(len(acl.Principal)) + layout.String(len(acl.Host)) + 1 + 1 + layout.Tags()
		inLast++
	}
	return size + array(layout, inLast) + layout.Array(resources)
}

// array is the size of the length of a resource's ACLs, of which there is one at least.
func array(layout encoded.Layout, n int) int64 {
	if n == 0 {
		return 0
	}
	return layout.Array(n)
}
