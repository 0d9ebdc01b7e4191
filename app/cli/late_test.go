package cli_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/handlers/findcoordinator"
)

// late finds the coordinator only after some requests.
type late struct {
	handler.Handler
	refusals atomic.Int64
}

func (l *late) Handle(ctx context.Context, call handler.Call, req kmsg.Request) (kmsg.Response, error) {
	resp, err := l.Handler.Handle(ctx, call, req)
	if found, ok := resp.(*kmsg.FindCoordinatorResponse); ok && l.refusals.Add(-1) >= 0 {
		for i := range found.Coordinators {
			found.Coordinators[i].ErrorCode = kerr.CoordinatorNotAvailable.Code
		}
	}
	return resp, err
}

// A coordinator that is not there yet is asked for again: a new Kafka broker makes
// its topic of offsets first, for seconds.
func TestCoordinatorIsNotThereYet(t *testing.T) {
	t.Parallel()
	finder := &late{}
	finder.refusals.Store(8) // more than the client tries by itself
	addr := gatewaytest.Start(t, fx.Provide(func(node *settings.Node) handler.Replacement {
		finder.Handler = findcoordinator.New(node)
		return handler.Replacement{Handler: finder}
	}))
	_, err := execute(t, "topics", "create", "orders", "-p", "1", "--bootstrap", addr)
	require.NoError(t, err)
	text, err := execute(t, "groups", "reset", "g", "--topic", "orders", "--to-earliest", "--execute", "--bootstrap", addr)
	require.NoError(t, err)
	require.Contains(t, text, "reset")
	require.Negative(t, finder.refusals.Load())
}
