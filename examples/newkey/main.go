// Command newkey is a gateway that serves one key more: DescribeACLs (29), which
// says who may do what. The handler lives here, outside of the gateway's own
// folders, and is added by one word in main.
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

func main() { app.Main(gateway.Plugins(), acls) }

// shape describes the request at every version.
var shape = guard.Body(2,
	guard.Int8(), guard.String().Nullable(), guard.Int8(), // type, name and pattern of the resource
	guard.String().Nullable(), guard.String().Nullable(), // principal, host
	guard.Int8(), guard.Int8()) // operation, permission

var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeACLsResponse, code int16) { r.ErrorCode = code })

var acls = fx.Module("describeacls", fx.Provide(func() handler.Out {
	return handler.Out{Handler: handler.New(1, 3, shape, badRequest, describe)}
}))

// describe says that anybody may do anything, as Kafka does without an authorizer.
func describe(context.Context, handler.Call, *kmsg.DescribeACLsRequest) (*kmsg.DescribeACLsResponse, error) {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode, resp.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr("No Authorizer is configured on the broker")
	return resp, nil
}
