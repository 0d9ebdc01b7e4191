// Command audit is a gateway that writes down who describes consumer groups. It
// takes the key DescribeGroups over with a handler that wraps the gateway's own.
package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/handlers/describegroups"
)

func main() { app.Main(gateway.Plugins(), audit) }

var audit = fx.Module("audit", fx.Provide(func(groups coordinator.Coordinator, log *zap.Logger) handler.Replacement {
	return handler.Replacement{Handler: audited{describegroups.New(groups), log}}
}))

// audited is the handler it holds, with a line in the log before each answer.
type audited struct {
	handler.Handler
	log *zap.Logger
}

func (a audited) Handle(ctx context.Context, call handler.Call, req kmsg.Request) (kmsg.Response, error) {
	a.log.Warn("groups described", zap.String("client", call.ClientID), zap.String("host", call.Host),
		zap.Strings("groups", req.(*kmsg.DescribeGroupsRequest).Groups))
	return a.Handler.Handle(ctx, call, req)
}
