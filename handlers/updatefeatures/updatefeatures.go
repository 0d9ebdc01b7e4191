// Package updatefeatures answers UpdateFeatures (key 57), versions 0 to 2: the
// features of this node cannot be updated, because it has none.
//
// KIP-584 (v0), KIP-778 (v1: types of upgrade, validation only), KIP-1022 (v2:
// one code for all features).
package updatefeatures

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.UpdateFeaturesResponse, code int16) { r.ErrorCode = code })

// The types of an upgrade (KIP-778).
const (
	upgrade         = 1
	unsafeDowngrade = 3
)

// messageCopies is how often the name of a feature, which may be long, is in
// memory beside the request: twice in each of reason, message and encoded answer.
const messageCopies = 6

// New returns the handler.
func New(node *settings.Node) handler.Handler {
	return handler.New(0, 2, shape, badRequest, updater{node}.update,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type updater struct{ node *settings.Node }

// update refuses the whole request for the first feature, as Kafka refuses all
// for one. Without a feature there is nothing to refuse.
func (u updater) update(ctx context.Context, call handler.Call, req *kmsg.UpdateFeaturesRequest) (*kmsg.UpdateFeaturesResponse, error) {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	if denied := topicadmin.AllowedCluster(ctx, call, kmsg.ACLOperationAlter); !denied.OK() {
		resp.ErrorCode, resp.ErrorMessage = denied.Code, denied.Message
		return resp, nil
	}
	if len(req.FeatureUpdates) == 0 {
		return resp, nil
	}
	first := &req.FeatureUpdates[0]
	if err := call.Reserve(ctx, messageCopies*int64(len(first.Feature))); err != nil {
		return nil, err
	}
	message := fmt.Sprintf(
		"The update failed for all features since the following feature had an error: Invalid update version %d for feature %s. %s",
		first.MaxVersionLevel, first.Feature, u.reason(req.Version, first))
	resp.ErrorCode, resp.ErrorMessage = kerr.InvalidUpdateVersion.Code, &message
	return resp, nil
}

// reason is why a feature cannot be updated, in Kafka's words and order.
func (u updater) reason(version int16, f *kmsg.UpdateFeaturesRequestFeatureUpdate) string {
	switch {
	case version >= 1 && (f.UpgradeType < upgrade || f.UpgradeType > unsafeDowngrade):
		return "The controller does not support the given upgrade type."
	case f.MaxVersionLevel < 0:
		return "A feature version cannot be less than 0."
	case f.MaxVersionLevel == 0:
		return fmt.Sprintf("Feature %s not found.", f.Feature)
	}
	return fmt.Sprintf("Local controller %d does not support this feature.", u.node.ID)
}
