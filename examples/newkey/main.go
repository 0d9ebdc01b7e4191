// Command newkey is a gateway that serves one key more: DescribeDelegationToken
// (41), which lists the tokens that users hand to others. The handler lives here,
// outside of the gateway's own folders, and is added by one word in main.
package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
)

func main() { app.Main(gateway.Plugins(), tokens) }

// shape describes the request at every version.
var shape = guard.Body(2, // flexible from v2 on
	guard.Array[kmsg.DescribeDelegationTokenRequestOwner](guard.String(), guard.String()).Nullable()) // owners: type, name

var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeDelegationTokenResponse, code int16) { r.ErrorCode = code })

var tokens = fx.Module("describedelegationtoken", fx.Provide(func() handler.Out {
	return handler.Out{Handler: handler.New(1, 3, shape, badRequest, describe)}
}))

// describe says that there are no tokens, as Kafka does without a key to make them with.
func describe(context.Context, handler.Call, *kmsg.DescribeDelegationTokenRequest) (*kmsg.DescribeDelegationTokenResponse, error) {
	resp := kmsg.NewPtrDescribeDelegationTokenResponse()
	resp.ErrorCode = kerr.DelegationTokenAuthDisabled.Code
	return resp, nil
}
