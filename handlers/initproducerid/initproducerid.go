// Package initproducerid answers InitProducerID (key 22): it hands out the ids
// of idempotent producers (KIP-98).
//
// Versions 0–5 are served. v2 is flexible, v3 lets a producer show the id and
// epoch that it has (KIP-360): it gets a new id, which serves the same end. v4
// and v5 change nothing here. Transactions are not served: a transactional id
// gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, because that is the code at which
// all clients give up at once instead of asking again.
package initproducerid

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
)

// none stands for a producer id or epoch that is not there.
const none = -1

// New returns the handler.
func New(ids backend.Producers) handler.Handler {
	bad := handler.InvalidRequest(refuse)
	return handler.New(0, 5, shape, bad, producers{ids}.init, handler.Authorizes(
		handler.Check{
			Operation: kmsg.ACLOperationWrite, Resource: kmsg.ACLResourceTypeTransactionalId, Of: "the transactional id",
			Code: kerr.TransactionalIDAuthorizationFailed.Code, When: "the request has one",
		},
		handler.Check{
			Operation: kmsg.ACLOperationIdempotentWrite, Resource: kmsg.ACLResourceTypeCluster,
			Code: kerr.ClusterAuthorizationFailed.Code, When: "the request has no transactional id",
		},
		handler.Check{
			Operation: kmsg.ACLOperationWrite, Resource: kmsg.ACLResourceTypeTopic, Any: true,
			Code: kerr.ClusterAuthorizationFailed.Code, When: "or else",
		},
	))
}

// refuse fills an answer without an id. Ids and epochs of 0 are valid ones.
func refuse(resp *kmsg.InitProducerIDResponse, code int16) {
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, none, none
}

type producers struct{ ids backend.Producers }

func (p producers) init(ctx context.Context, call handler.Call, req *kmsg.InitProducerIDRequest) (*kmsg.InitProducerIDResponse, error) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	switch id := req.TransactionalID; {
	case id != nil && !call.Allowed(ctx, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, *id):
		refuse(resp, kerr.TransactionalIDAuthorizationFailed.Code)
		return resp, nil
	case id == nil && !call.ShownCluster(ctx, kmsg.ACLOperationIdempotentWrite) &&
		!call.AllowedAny(ctx, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic): // KIP-679
		refuse(resp, kerr.ClusterAuthorizationFailed.Code)
		return resp, nil
	case id != nil && *id == "":
		refuse(resp, kerr.InvalidRequest.Code)
		return resp, nil
	case (req.ProducerID == none) != (req.ProducerEpoch == none):
		refuse(resp, kerr.InvalidRequest.Code)
		return resp, nil
	case id != nil:
		refuse(resp, kerr.TransactionalIDAuthorizationFailed.Code)
		return resp, nil
	}
	id, err := p.ids.NewProducerID(ctx)
	if err != nil {
		refuse(resp, errcode.Offsets(err))
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp, nil
}
