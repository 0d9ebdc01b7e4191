// Package describeclientquotas answers DescribeClientQuotas (key 48), versions 0
// and 1: the quotas of users, client ids and addresses.
//
// KIP-546, and KIP-612 for addresses.
package describeclientquotas

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeClientQuotasResponse, code int16) { r.ErrorCode = code })

// describeConfigs is what a caller must be allowed.
var describeConfigs = handler.Check{
	Operation: kmsg.ACLOperationDescribeConfigs, Resource: kmsg.ACLResourceTypeCluster, Code: kerr.ClusterAuthorizationFailed.Code,
}

// New returns the handler. Without quotas, nil, it is hidden and shows none.
func New(quotas security.QuotaList) handler.Handler {
	return handler.New(0, 1, shape, badRequest, describer{quotas}.describe,
		handler.Authorizes(describeConfigs), handler.HiddenIf(quotas == nil))
}

type describer struct{ quotas security.QuotaList }

type (
	request   = kmsg.DescribeClientQuotasRequest
	response  = kmsg.DescribeClientQuotasResponse
	entry     = kmsg.DescribeClientQuotasResponseEntry
	component = kmsg.DescribeClientQuotasResponseEntryEntity
	value     = kmsg.DescribeClientQuotasResponseEntryValue
)

func (d describer) describe(ctx context.Context, call handler.Call, req *request) (*response, error) {
	if !call.AllowedCluster(ctx, kmsg.ACLOperationDescribeConfigs) {
		resp := kmsg.NewPtrDescribeClientQuotasResponse()
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil
	}
	filters, err := filtersOf(req)
	if err != nil {
		return refuse(err), nil
	}
	var entries []security.QuotaEntry
	if d.quotas != nil {
		if entries, err = d.quotas.DescribeQuotas(ctx, filters, req.Strict); err != nil {
			return refuse(err), nil
		}
	}
	size := price(entries, encoded.At(req.Version, 1))
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("DescribeClientQuotas answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+memoryOf(entries)); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.ErrorMessage = new(string) // Kafka sends an empty one
	resp.Entries = make([]entry, len(entries))
	for i, e := range entries {
		resp.Entries[i] = answer(e)
	}
	return resp, nil
}

// refuse is the answer to a request that fails. An error without a code of its own
// is a store's, whose text is not for clients.
func refuse(err error) *response {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.ErrorCode = kerr.UnknownServerError.Code
	if code, text, ok := security.Refused(err); ok {
		resp.ErrorCode, resp.ErrorMessage = code, &text
	}
	return resp
}

// answer is an entity as it is answered, its types and quotas in the order of their
// names.
func answer(e security.QuotaEntry) entry {
	a := entry{Entity: make([]component, 0, len(e.Entity)), Values: make([]value, 0, len(e.Values))}
	for _, kind := range slices.Sorted(maps.Keys(e.Entity)) {
		a.Entity = append(a.Entity, component{Type: kind, Name: e.Entity[kind]})
	}
	for _, key := range slices.Sorted(maps.Keys(e.Values)) {
		a.Values = append(a.Values, value{Key: key, Value: e.Values[key]})
	}
	return a
}

// price is the size of the answer as its encoder will write it, header included and
// the frame's length prefix not.
func price(entries []security.QuotaEntry, layout encoded.Layout) int64 {
	size := layout.Header() + 4 + 2 + layout.String(0) + layout.Array(len(entries)) + layout.Tags()
	for _, e := range entries {
		size += layout.Array(len(e.Entity)) + layout.Array(len(e.Values)) + layout.Tags()
		for kind, name := range e.Entity {
			size += layout.String(len(kind)) + layout.NullableString(name) + layout.Tags()
		}
		for key := range e.Values {
			size += layout.String(len(key)) + 8 + layout.Tags()
		}
	}
	return size
}

// memoryOf is what the answer takes as Go values, in bytes.
func memoryOf(entries []security.QuotaEntry) int64 {
	size := int64(len(entries)) * int64(unsafe.Sizeof(entry{}))
	for _, e := range entries {
		size += int64(len(e.Entity))*int64(unsafe.Sizeof(component{})) + int64(len(e.Values))*int64(unsafe.Sizeof(value{}))
	}
	return size
}
