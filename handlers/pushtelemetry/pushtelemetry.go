// Package pushtelemetry answers PushTelemetry (key 72), version 0: it takes the
// metrics of a client, to show them as Prometheus series.
//
// KIP-714. What is pushed is OTLP, compressed by one of the codecs of record
// batches; package telemetry tells which series it becomes.
package pushtelemetry

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/telemetry"
)

// expansion is how many times telemetry.max_bytes a push may have once it is
// decompressed.
const expansion = 8

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.PushTelemetryResponse, code int16) { r.ErrorCode = code })

// New returns the handler. Its key is hidden from clients unless they are to push
// something: they ask as soon as they see it, and say so in their logs.
func New(store *telemetry.Store) handler.Handler {
	return handler.New(0, 0, shape, badRequest, receiver{store}.push,
		handler.HiddenIf(!store.Wanted()))
}

type receiver struct{ store *telemetry.Store }

func (r receiver) push(ctx context.Context, call handler.Call, req *kmsg.PushTelemetryRequest) (*kmsg.PushTelemetryResponse, error) {
	resp := kmsg.NewPtrPushTelemetryResponse()
	err := r.store.Admit(telemetry.Push{
		Client: req.ClientInstanceID, ClientID: call.ClientID, Subscription: req.SubscriptionID,
		Terminating: req.Terminating, Compression: req.CompressionType, Size: len(req.Metrics),
	})
	if err == nil && len(req.Metrics) > 0 {
		err = r.record(ctx, call, req)
	}
	code, ok := codeOf(err)
	if !ok {
		return nil, err
	}
	resp.ErrorCode = code
	return resp, nil
}

// record decompresses what was pushed and hands it on.
func (r receiver) record(ctx context.Context, call handler.Call, req *kmsg.PushTelemetryRequest) error {
	compressed, err := record.NewCompressed(record.Codec(req.CompressionType), req.Metrics)
	if err != nil {
		return err
	}
	limit := expansion * int(r.store.Config().MaxBytes)
	if memory := compressed.Memory(); memory > 0 {
		// The buffer may have been grown to twice what it holds.
		if err := call.Reserve(ctx, memory+2*int64(limit)); err != nil {
			return err
		}
	}
	data, err := compressed.Bytes(ctx, limit)
	if err != nil {
		return err
	}
	return r.store.Record(req.ClientInstanceID, data)
}

// codes are what the client is told.
var codes = []struct {
	err  error
	code *kerr.Error
}{
	{telemetry.ErrID, kerr.InvalidRequest},
	{telemetry.ErrTerminating, kerr.InvalidRequest},
	{telemetry.ErrEarly, kerr.ThrottlingQuotaExceeded},
	{telemetry.ErrSubscription, kerr.UnknownSubscriptionID},
	{telemetry.ErrCompression, kerr.UnsupportedCompressionType},
	{telemetry.ErrTooLarge, kerr.TelemetryTooLarge},
	{record.ErrTooLong, kerr.TelemetryTooLarge},
	{record.ErrInvalid, kerr.InvalidRecord},
	{telemetry.ErrInvalid, kerr.InvalidRecord},
}

// codeOf returns the code of an error; ok is false when it closes the connection.
func codeOf(err error) (code int16, ok bool) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code.Code, true
		}
	}
	return 0, err == nil
}
