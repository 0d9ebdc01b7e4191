// Package gettelemetrysubscriptions answers GetTelemetrySubscriptions (key 71),
// version 0: which of its metrics a client is to push, and how often.
//
// KIP-714. With no metrics configured, which is the default, the answer names
// none, and clients push nothing.
package gettelemetrysubscriptions

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/telemetry"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.GetTelemetrySubscriptionsResponse, code int16) { r.ErrorCode = code })

// codecs are those that a push may be compressed with, best first, as Kafka
// lists them.
var codecs = []int8{int8(record.Zstd), int8(record.LZ4), int8(record.Gzip), int8(record.Snappy)}

// New returns the handler. Its key is hidden from clients unless they are to push
// something: they ask as soon as they see it, and say so in their logs.
func New(store *telemetry.Store) handler.Handler {
	return handler.New(0, 0, shape, badRequest, server{store}.subscribe,
		handler.HiddenIf(!store.Wanted()))
}

type server struct{ store *telemetry.Store }

// subscribe knows one refusal: the client asks too early.
func (s server) subscribe(_ context.Context, call handler.Call, req *kmsg.GetTelemetrySubscriptionsRequest) (*kmsg.GetTelemetrySubscriptionsResponse, error) {
	resp := kmsg.NewPtrGetTelemetrySubscriptionsResponse()
	subscription, err := s.store.Subscribe(req.ClientInstanceID, call.ClientID)
	if err != nil {
		resp.ErrorCode = kerr.ThrottlingQuotaExceeded.Code
		return resp, nil
	}
	cfg := s.store.Config()
	resp.ClientInstanceID, resp.SubscriptionID = subscription.Client, subscription.ID
	resp.AcceptedCompressionTypes = codecs
	resp.PushIntervalMillis = int32(cfg.PushInterval.Milliseconds()) // #nosec G115 -- the configuration is checked to fit
	resp.TelemetryMaxBytes = cfg.MaxBytes
	resp.RequestedMetrics = subscription.Metrics
	return resp, nil
}
