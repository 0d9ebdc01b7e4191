// Package findcoordinator answers FindCoordinator (key 10), versions 0 to 6:
// which node coordinates a group. There is one node, so it is always this one.
//
// KIP-98 (v1) adds the type of the key and an error text, KIP-699 (v4) several
// keys in one request with a code each. Transactions (type 1) are refused with
// TRANSACTIONAL_ID_AUTHORIZATION_FAILED; share groups (type 2, KIP-932, v6) and
// other types with INVALID_REQUEST.
package findcoordinator

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// several is the first version that names a list of keys (KIP-699).
const several = 4

// shareGroups is the first version in which Kafka knows share groups (KIP-932).
const shareGroups = 6

// The types of keys.
const (
	typeGroup       = 0
	typeTransaction = 1
	typeShare       = 2
)

// New returns the handler for a gateway that is the given node. A body that
// does not decode closes the connection: from v4 on codes are per key.
func New(node *settings.Node) handler.Handler {
	return handler.New(0, 6, shape, handler.CloseConnection, finder{node}.find, handler.Authorizes(
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeGroup, Of: "each key",
			Code: kerr.GroupAuthorizationFailed.Code, When: "the keys are groups",
		},
		handler.Check{
			Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTransactionalId, Of: "each key",
			Code: kerr.TransactionalIDAuthorizationFailed.Code, When: "the keys are transactional ids",
		},
		handler.Check{
			Operation: kmsg.ACLOperationClusterAction, Resource: kmsg.ACLResourceTypeCluster,
			Code: kerr.ClusterAuthorizationFailed.Code, When: "v6: the keys are partitions of share groups",
		},
	))
}

type finder struct{ node *settings.Node }

func (f finder) find(ctx context.Context, call handler.Call, req *kmsg.FindCoordinatorRequest) (*kmsg.FindCoordinatorResponse, error) {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	answer := f.answer(call.Listener, req.CoordinatorType)
	all := denialOfAll(ctx, call, req)
	if req.Version < several {
		if denied := cmp.Or(all, denial(ctx, call, req.CoordinatorType, req.CoordinatorKey)); denied != nil {
			resp.ErrorCode, resp.ErrorMessage = denied.code, &denied.text
			resp.NodeID, resp.Port = -1, -1
			return resp, nil
		}
		resp.ErrorCode, resp.ErrorMessage = answer.ErrorCode, answer.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = answer.NodeID, answer.Host, answer.Port
		if answer.ErrorCode == 0 {
			resp.ErrorMessage = kmsg.StringPtr("NONE") // as Kafka
		}
		return resp, nil
	}
	// A key of one byte gets the whole address and text back.
	each := entryMemory + int64(len(answer.Host)+len(*answer.ErrorMessage))
	if err := call.Reserve(ctx, each*int64(len(req.CoordinatorKeys))); err != nil {
		return nil, err
	}
	resp.Coordinators = make([]kmsg.FindCoordinatorResponseCoordinator, len(req.CoordinatorKeys))
	for i, key := range req.CoordinatorKeys {
		entry := &resp.Coordinators[i]
		if denied := cmp.Or(all, denial(ctx, call, req.CoordinatorType, key)); denied != nil {
			entry.Default()
			entry.ErrorCode, entry.ErrorMessage = denied.code, new(string)
			if req.CoordinatorType == typeShare { // Kafka has words for this one alone
				entry.ErrorMessage = &denied.text
			}
			entry.NodeID, entry.Port = -1, -1
		} else {
			*entry = answer
		}
		entry.Key = key
	}
	return resp, nil
}

// denied is a refusal, with Kafka's words for it.
type denied struct {
	code int16
	text string
}

var (
	groupDenied       = &denied{kerr.GroupAuthorizationFailed.Code, "Group authorization failed."}
	transactionDenied = &denied{kerr.TransactionalIDAuthorizationFailed.Code, "Transactional Id authorization failed."}
	clusterDenied     = &denied{kerr.ClusterAuthorizationFailed.Code, "Cluster authorization failed."}
)

// denial is the refusal of a key that the caller may not look for; nil where it may.
func denial(ctx context.Context, call handler.Call, kind int8, key string) *denied {
	switch {
	case kind == typeGroup && !call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup, key):
		return groupDenied
	case kind == typeTransaction && !call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTransactionalId, key):
		return transactionDenied
	}
	return nil
}

// denialOfAll is the refusal of every key of a request; nil where none is.
func denialOfAll(ctx context.Context, call handler.Call, req *kmsg.FindCoordinatorRequest) *denied {
	share := req.CoordinatorType == typeShare && req.Version >= shareGroups
	if share && !call.AllowedCluster(ctx, kmsg.ACLOperationClusterAction) {
		return clusterDenied
	}
	return nil
}

// entryMemory is what an entry of the answer takes beside its strings, decoded
// and on the wire, in bytes.
const entryMemory = 128

// answer is the entry for any key of a type.
func (f finder) answer(at handler.Listener, keyType int8) kmsg.FindCoordinatorResponseCoordinator {
	entry := kmsg.NewFindCoordinatorResponseCoordinator()
	if keyType == typeGroup {
		entry.NodeID = f.node.ID
		entry.Host, entry.Port = at.Host, at.Port
		entry.ErrorMessage = kmsg.StringPtr("")
		return entry
	}
	entry.NodeID, entry.Port = -1, -1
	refusal, text := kerr.InvalidRequest, "Only consumer groups (key type 0) have a coordinator here."
	if keyType == typeTransaction {
		// Of all codes this alone makes every stock client give up at once;
		// after others some ask again until the caller's timeout.
		refusal, text = kerr.TransactionalIDAuthorizationFailed, "Transactions are not supported."
	}
	entry.ErrorCode, entry.ErrorMessage = refusal.Code, &text
	return entry
}
