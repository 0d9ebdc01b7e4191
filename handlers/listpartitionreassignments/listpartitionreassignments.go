// Package listpartitionreassignments answers ListPartitionReassignments (key 46),
// version 0 (KIP-455): the partitions that are on their way to other brokers.
// There is one broker, so none is, whatever the request names.
package listpartitionreassignments

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.ListPartitionReassignmentsResponse, code int16) { r.ErrorCode = code })

// New returns the handler.
func New() handler.Handler { return handler.New(0, 0, shape, badRequest, list) }

func list(context.Context, handler.Call, *kmsg.ListPartitionReassignmentsRequest) (*kmsg.ListPartitionReassignmentsResponse, error) {
	return kmsg.NewPtrListPartitionReassignmentsResponse(), nil
}
