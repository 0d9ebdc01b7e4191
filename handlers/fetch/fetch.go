// Package fetch answers Fetch (key 1): it reads record batches, and waits for
// them when there are too few.
//
// Versions 4–18 are served. v5 brings the log start offset (KIP-107), v7 the
// session fields (KIP-227), v9 the leader epoch (KIP-320), v11 the rack
// (KIP-392), v12 the flexible layout, v13 topic ids (KIP-516), v15 the replica
// state (KIP-903). The leader hints of v16 (KIP-951) are never sent, and the
// fields of v17 and v18 concern replicas only.
//
// The gateway keeps no fetch sessions: it answers in full, with session id 0,
// which is how Kafka tells a client that it has no room for another session.
// Only whole batches are returned, as they are stored; the first may start
// before the offset that was asked for.
package fetch

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/settings"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	backend.Logs
}

// New returns the handler.
func New(store Store, limits settings.Fetch) handler.Handler {
	return handler.New(4, 18, shape, handler.CloseConnection, fetcher{store, limits}.fetch,
		handler.Sized(size), handler.Parts(records), handler.Uses(security.FetchedBytes), handler.WhenThrottled(empty), handler.Authorizes(
			handler.Check{
				Operation: kmsg.ACLOperationClusterAction, Resource: kmsg.ACLResourceTypeCluster,
				Code: kerr.TopicAuthorizationFailed.Code, When: "the request is a broker's, with a replica id",
			},
			handler.Check{
				Operation: kmsg.ACLOperationRead, Resource: kmsg.ACLResourceTypeTopic, Of: "each topic",
				Code: kerr.TopicAuthorizationFailed.Code, When: "it is a client's",
			},
		))
}

type fetcher struct {
	store  Store
	limits settings.Fetch
}

// The session epochs (KIP-227) that ask for a full answer.
const (
	noSession  = -1
	newSession = 0
)

func (f fetcher) fetch(ctx context.Context, call handler.Call, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	resp := kmsg.NewPtrFetchResponse()
	if req.SessionEpoch != noSession && req.SessionEpoch != newSession {
		resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
		return resp, nil
	}
	w := plan(req)
	w.store, w.call = f.store, call
	// A negative limit counts as none at all, which still lets one batch pass.
	w.maxBytes = min(max(0, int(min(req.MaxBytes, f.limits.MaxBytes))), call.MaxBytes())
	if call.MaxFrame > 0 {
		w.maxBytes = max(0, min(w.maxBytes, call.MaxFrame-w.overhead()))
	}
	w.minBytes = min(int64(req.MinBytes), int64(w.maxBytes))

	w.resolve(ctx, req)
	if odd := req.IsolationLevel != 0 && req.IsolationLevel != 1; odd && len(w.live()) > 0 {
		resp.ErrorCode = kerr.InvalidRequest.Code
		w.failAll(kerr.InvalidRequest.Code)
		resp.Topics = w.response(req)
		return resp, nil
	}
	wait := min(time.Duration(req.MaxWaitMillis)*time.Millisecond, f.limits.MaxWait)
	if err := w.await(ctx, wait); err != nil {
		return nil, err
	}
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	resp.Topics = w.response(req)
	return resp, nil
}

// empty is the answer to a client that is over its quota, as Kafka makes it: the
// records wait until it may have them.
func empty(*kmsg.FetchResponse) *kmsg.FetchResponse { return kmsg.NewPtrFetchResponse() }

// records names the records of a response.
func records(resp *kmsg.FetchResponse, each func(*[]byte)) {
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			each(&t.Partitions[i].RecordBatches)
		}
	}
}

// size is about the length of an encoded response: 50 bytes for each partition, and
// what it holds of records.
func size(resp *kmsg.FetchResponse) int {
	n := 1 << 10
	records(resp, func(batches *[]byte) { n += 50 + len(*batches) })
	return n
}
