// Package describetransactions answers DescribeTransactions (key 65), version 0:
// what this node knows of transactional ids. It coordinates no transactions, so
// no id is found.
//
// KIP-664.
package describetransactions

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/handler"
)

// New returns the handler. A body that does not decode closes the connection:
// codes are per id, and an answer without ids looks like success.
func New() handler.Handler {
	return handler.New(0, 0, shape, handler.CloseConnection, describe, handler.Authorizes(check))
}

var check = handler.Check{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTransactionalId,
	Of: "each id", Code: kerr.TransactionalIDAuthorizationFailed.Code}

func describe(ctx context.Context, call handler.Call, req *kmsg.DescribeTransactionsRequest) (*kmsg.DescribeTransactionsResponse, error) {
	size := price(req.TransactionalIDs)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("DescribeTransactions answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+int64(len(req.TransactionalIDs))*stateMemory); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.TransactionStates = make([]kmsg.DescribeTransactionsResponseTransactionState, len(req.TransactionalIDs))
	for i, id := range req.TransactionalIDs {
		state := &resp.TransactionStates[i]
		state.TransactionalID, state.ErrorCode = id, kerr.TransactionalIDNotFound.Code
		switch {
		case !call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTransactionalId, id):
			state.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		case id == "":
			state.ErrorCode = kerr.InvalidRequest.Code
		}
	}
	return resp, nil
}

// stateMemory is what an id of the answer takes in memory beside its bytes on
// the wire.
const stateMemory = int64(unsafe.Sizeof(kmsg.DescribeTransactionsResponseTransactionState{}))

// stateSize is an id's entry on the wire without the id: code, empty state,
// timeout, start, producer id and epoch, no topics, tag section.
const stateSize = 2 + 1 + 4 + 8 + 8 + 2 + 1 + 1

// price is the size of the answer as its encoder will write it, header included
// and the frame's length prefix not.
func price(ids []string) int64 {
	layout := encoded.Flexible
	size := layout.Header() + 4 + layout.Array(len(ids)) + layout.Tags()
	for _, id := range ids {
		size += layout.String(len(id)) + stateSize
	}
	return size
}
