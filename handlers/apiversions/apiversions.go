// Package apiversions answers ApiVersions (key 18), versions 0 to 5: the keys
// that the gateway serves, with their ranges.
//
// The rows are those of the dispatcher's table, one a key, sorted, and nothing
// else: a key that is not served must not be advertised. The absence of keys
// 24, 25, 26 and 28 is what tells clients that there are no transactions.
//
// Version 1 adds the throttle time, version 3 (KIP-511) the client's name and
// version, which are checked, and version 5 (KIP-1242) the cluster and node that
// the client means to reach, so that it notices when an address was given to
// another cluster. No feature lists (KIP-584) are sent: with a finalized
// transaction.version clients would skip the keys whose absence they must see.
//
// A version outside the range is answered at version 0 with
// UNSUPPORTED_VERSION and the row of key 18, so that the client can try again.
package apiversions

import (
	"context"
	"regexp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/cluster"
	"github.com/iggykafka/gateway/core/handler"
)

const minVersion, maxVersion = 0, 5

// New returns the handler for a cluster.
func New(c *cluster.Cluster) handler.Handler {
	bad := handler.InvalidRequest(func(r *kmsg.ApiVersionsResponse, code int16) { r.ErrorCode = code })
	return handler.New(minVersion, maxVersion, shape, bad, server{c}.apiVersions,
		handler.Unsupported(unsupported), handler.BeforeLogin())
}

// unsupported answers a version outside the range. It carries version 0.
func unsupported(handler.Call) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = rows([]handler.Range{{Key: int16(kmsg.ApiVersions), Min: minVersion, Max: maxVersion}})
	return resp
}

type server struct{ cluster *cluster.Cluster }

func (s server) apiVersions(ctx context.Context, call handler.Call, req *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if resp.ErrorCode = s.check(ctx, req); resp.ErrorCode == 0 {
		resp.ApiKeys = rows(call.APIs)
		if call.Login != nil {
			call.Login.Versions()
		}
	}
	return resp, nil
}

// software is what the client's name and version must look like (KIP-511).
var software = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// check returns the error code of a request, whose fields are at their defaults
// where its version does not have them.
func (s server) check(ctx context.Context, req *kmsg.ApiVersionsRequest) int16 {
	if req.Version >= 3 && !(software.MatchString(req.ClientSoftwareName) && software.MatchString(req.ClientSoftwareVersion)) {
		return kerr.InvalidRequest.Code
	}
	if req.Version < 5 || req.ClusterID == nil && req.NodeID == -1 {
		return 0
	}
	if req.ClusterID == nil || req.NodeID == -1 {
		return kerr.InvalidRequest.Code
	}
	if req.NodeID != s.cluster.Node.ID {
		return kerr.RebootstrapRequired.Code
	}
	// A backend that cannot say who we are is no reason to send clients away.
	if id, err := s.cluster.ID(ctx); err == nil && id != *req.ClusterID {
		return kerr.RebootstrapRequired.Code
	}
	return 0
}

func rows(apis []handler.Range) []kmsg.ApiVersionsResponseApiKey {
	out := make([]kmsg.ApiVersionsResponseApiKey, len(apis))
	for i, r := range apis {
		out[i].ApiKey, out[i].MinVersion, out[i].MaxVersion = r.Key, r.Min, r.Max
	}
	return out
}
